// Package membership tests how clusters join a clusterset, stay in it and leave it: the
// commands of atoll, run as a person does, and the agents, against real API servers.
package membership

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	"github.com/atoll-mcs/atoll/internal/cli"
	"github.com/atoll-mcs/atoll/lab"
)

// patience is how long something that must come is waited for.
const patience = 30 * time.Second

// clusters are the contexts of the lab's kubeconfig.
var clusters = []string{"c1", "c2", lab.Broker}

var (
	// theLab has API servers without Atoll.
	theLab *lab.Lab
	// on holds an administrator's client for each of them.
	on = map[string]client.WithWatch{}
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
	var err error
	theLab, err = lab.Up(ctx, lab.Options{
		Shape: lab.Shape{
			Name: fmt.Sprintf("membership-%d", os.Getpid()), Clusters: 2, Nodes: 1,
			IPFamily: lab.IPv4, ControlPlaneOnly: true, Bare: true,
		},
		Progress: os.Stderr,
	})
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := lab.Down(ctx, theLab.Name()); err != nil {
			fail(err)
		}
	}()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, mcsv1beta1.Install, brokerv1alpha1.AddToScheme, aboutv1beta1.AddToScheme, apiextensionsv1.AddToScheme,
		networkingv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return fail(err)
		}
	}
	for _, name := range clusters {
		config, err := theLab.RESTConfig(name)
		if err != nil {
			return fail(err)
		}
		if on[name], err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
			return fail(err)
		}
	}
	os.Setenv("KUBECONFIG", theLab.Kubeconfig())
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "membership:", err)
	return 1
}

// result is how a command has ended.
type result struct {
	status         int
	stdout, stderr string
}

// atoll runs a command line, of words without spaces.
func atoll(stdin, line string) result {
	var stdout, stderr bytes.Buffer
	status := cli.Main(append([]string{"atoll"}, strings.Fields(line)...), strings.NewReader(stdin), &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

// must runs a command line that has to succeed, and returns what it has written to standard
// output.
func must(t *testing.T, stdin, line string) string {
	t.Helper()
	r := atoll(stdin, line)
	if r.status != 0 {
		t.Fatalf("atoll %s: status %d\n%s", line, r.status, r.stderr)
	}
	return r.stdout
}

// refused runs a command line that has to fail with a message that holds these words.
func refused(t *testing.T, stdin, line string, words ...string) {
	t.Helper()
	r := atoll(stdin, line)
	if r.status != 1 {
		t.Errorf("atoll %s: status %d\n%s", line, r.status, r.stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("atoll %s: does not say %q but\n%s", line, w, r.stderr)
		}
	}
}

// server is the broker's URL for the members.
func server(t *testing.T) string {
	t.Helper()
	c, err := theLab.Spec.Cluster(lab.Broker)
	if err != nil {
		t.Fatal(err)
	}
	return "https://" + c.APIServer.String()
}

// joinFile makes one for a cluster.
func joinFile(t *testing.T, id string, flags ...string) string {
	t.Helper()
	return must(t, "", fmt.Sprintf("broker token create %s --context broker --server %s %s", id, server(t), strings.Join(flags, " ")))
}

// write writes a file that goes with the test.
func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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
