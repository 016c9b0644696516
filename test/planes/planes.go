// Package planes starts API servers for the tests of a package, and provides clients and wait
// helpers.
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
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/lab"
)

// Patience limits each wait. Clients such as kube-controller-manager pause for up to a minute
// between attempts after an API server was down.
const Patience = 2 * time.Minute

// Suite is a package of tests that share a lab.
type Suite struct {
	// Name is the prefix of the lab's name and of messages about a lab that did not start.
	Name string
	// Options configure the lab. Main sets the name, the programs and the options that all
	// suites share.
	Options lab.Options
	// Ready is called with the lab before any test.
	Ready func(ctx context.Context, l *lab.Lab) error
}

// Main is the TestMain of a package: it starts the lab, runs the tests, deletes the lab and
// exits. With -short no test runs.
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

// Scheme registers all kinds that members and brokers store.
func Scheme() *runtime.Scheme {
	return lifecycle.Scheme(clientgoscheme.AddToScheme, mcsv1beta1.Install, brokerv1alpha1.AddToScheme, networkingv1alpha1.AddToScheme,
		aboutv1beta1.AddToScheme, trafficv1alpha1.AddToScheme, apiextensionsv1.AddToScheme)
}

// Clients returns an administrator's client for each cluster.
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

// Target is a cluster of the lab as an installation target.
func Target(t *testing.T, l *lab.Lab, cluster string) *install.Target {
	t.Helper()
	config, err := l.RESTConfig(cluster)
	NoError(t, err)
	target, err := install.NewTarget(config, nil)
	NoError(t, err)
	return target
}

// Eventually calls f until f returns nil, and fails the test with f's last error after
// Patience. The interval grows: fast polling for slow changes, such as the deletion of a
// namespace, was a quarter of all requests to the API servers.
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
