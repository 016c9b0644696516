// Package planes starts API servers for the tests of a package, and has clients and helpers for waiting.
package planes

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/lab"
)

// Patience is how long something that must come is waited for: clients of an API server, the controller manager among them, pause for up to a minute
// between attempts after it was away.
const Patience = 2 * time.Minute

// Suite is a package of tests that have one lab.
type Suite struct {
	// Name begins the lab's, and what is said when it can't be had.
	Name string
	// Options are the lab's, but for its name, the programs and what all such labs have in common.
	Options lab.Options
	// Ready is called with the lab before any test.
	Ready func(ctx context.Context, l *lab.Lab) error
}

// Main brings the lab up, runs the tests and takes it down, and ends the process: a package's TestMain. With -short there are no
// tests.
func (s Suite) Main(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped: needs API servers")
		return
	}
	os.Exit(s.run(m))
}

func (s Suite) run(m *testing.M) (status int) {
	ctx := context.Background()
	options := s.Options
	if !options.Bare {
		programs, remove, err := Programs(ctx)
		if err != nil {
			return s.fail(err)
		}
		defer remove()
		options.Atoll = filepath.Join(programs, "atoll")
	}
	options.Name, options.Nodes, options.IPFamily, options.ControlPlaneOnly = fmt.Sprintf("%s-%d", s.Name, os.Getpid()), 1, lab.IPv4, true
	options.Progress = os.Stderr
	l, err := lab.Up(ctx, options)
	if err != nil {
		return s.fail(err)
	}
	defer func() {
		if err := lab.Down(ctx, l.Name()); err != nil {
			status = s.fail(err)
		}
	}()
	if err := s.Ready(ctx, l); err != nil {
		return s.fail(err)
	}
	return m.Run()
}

func (s Suite) fail(err error) (status int) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
	return 1
}

// Scheme has all kinds that members and brokers hold.
func Scheme() *runtime.Scheme {
	return lifecycle.Scheme(clientgoscheme.AddToScheme, mcsv1beta1.Install, brokerv1alpha1.AddToScheme, networkingv1alpha1.AddToScheme,
		aboutv1beta1.AddToScheme, apiextensionsv1.AddToScheme)
}

// Clients returns an administrator's client for each of these clusters.
func Clients(l *lab.Lab, clusters ...string) (map[string]client.WithWatch, error) {
	scheme := Scheme()
	all := map[string]client.WithWatch{}
	for _, name := range clusters {
		config, err := l.RESTConfig(name)
		if err != nil {
			return nil, err
		}
		if all[name], err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Target is an API server of a lab's as commands that install have it.
func Target(t *testing.T, l *lab.Lab, cluster string) *install.Target {
	t.Helper()
	config, err := l.RESTConfig(cluster)
	NoError(t, err)
	target, err := install.NewTarget(config, nil)
	NoError(t, err)
	return target
}

// Eventually calls f until it returns nil, and fails the test with its last error when that takes longer than Patience. It calls f less and
// less often: polling for what takes seconds, as a namespace's deletion, was a quarter of all requests to the API servers.
func Eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	interval := 20 * time.Millisecond
	again := time.NewTimer(interval)
	defer again.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: %v", what, err)
		case <-again.C:
			interval = min(interval*5/4, 200*time.Millisecond)
			again.Reset(interval)
		}
	}
}
