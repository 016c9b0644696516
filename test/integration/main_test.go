// Package integration tests the agents with real API servers: a lab of control planes
// only, in which the agents are processes with no more rights than they have in a real
// installation. There are no pods, so the tests make EndpointSlices themselves.
package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/lab"
)

// patience is how long something that must come is waited for.
const patience = 30 * time.Second

var (
	// theLab has clusters c1 and c2 and a broker.
	theLab *lab.Lab
	// on holds an administrator's client for each of them.
	on map[string]client.WithWatch
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped: needs API servers")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	programs, err := build(ctx)
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(programs)
	theLab, err = lab.Up(ctx, lab.Options{
		Shape: lab.Shape{
			Name: fmt.Sprintf("integration-%d", os.Getpid()), Clusters: 2, Nodes: 1,
			IPFamily: lab.IPv4, ControlPlaneOnly: true, Hub: true,
		},
		Atoll: filepath.Join(programs, "atoll"),
		// Tests that kill an agent wait that long until it is missed.
		AgentArgs: []string{"--lease-timeout=4s"},
		Audit:     true, // for tests that count writes
		Progress:  os.Stderr,
	})
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := lab.Down(ctx, theLab.Name()); err != nil {
			fail(err)
		}
	}()
	if on, err = clients(); err != nil {
		return fail(err)
	}
	return m.Run()
}

// build makes the programs under test.
func build(ctx context.Context) (dir string, err error) {
	dir, err = os.MkdirTemp("", "atoll-integration-")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/...")
	command.Dir = filepath.Join("..", "..")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building atoll: %w\n%s", err, output)
	}
	return dir, nil
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "integration:", err)
	return 1
}

func clients() (map[string]client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcsv1beta1.Install, brokerv1alpha1.AddToScheme, networkingv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	all := map[string]client.WithWatch{}
	for _, name := range []string{"c1", "c2", lab.Broker} {
		config, err := theLab.RESTConfig(name)
		if err != nil {
			return nil, err
		}
		if all[name], err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// eventually calls f until it returns nil, and fails the test with its last error when
// that takes too long.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
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
		}
	}
}

// slicesOf lists the EndpointSlices of a namespace that Atoll keeps in a cluster.
func slicesOf(t *testing.T, cluster, namespace string) []discoveryv1.EndpointSlice {
	t.Helper()
	list := &discoveryv1.EndpointSliceList{}
	if err := on[cluster].List(t.Context(), list, client.InNamespace(namespace),
		client.MatchingLabels{discoveryv1.LabelManagedBy: "agent.atoll.dev"}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}
