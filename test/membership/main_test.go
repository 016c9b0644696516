// Package membership tests joining, leaving and credentials with the real commands, agents and API servers.
package membership

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

var (
	eventually      = planes.Eventually
	noError         = planes.NoError
	asMember        = planes.AsMember
	atoll           = planes.Atoll
	must            = planes.Must
	expectForbidden = planes.Refused
	namespace       = objects.Namespace
	export          = objects.Export
)

// clusters are the contexts of the lab's kubeconfig.
var clusters = []string{"c1", "c2", lab.Broker}

var (
	// theLab has API servers without Atoll.
	theLab *lab.Lab
	// on holds an administrator's client for each cluster and for the broker.
	on map[string]client.WithWatch
)

func TestMain(m *testing.M) {
	planes.Suite{
		Name:    "membership",
		Options: lab.Options{Shape: lab.Shape{Clusters: 2, Bare: true}, Audit: true}, // for tests that count writes
		Ready: func(_ context.Context, l *lab.Lab) (err error) {
			theLab = l
			os.Setenv("KUBECONFIG", l.Kubeconfig())
			on, err = planes.Clients(l, clusters...)
			return err
		},
	}.Main(m)
}

// refused runs a command line that must fail with a message that contains these words.
func refused(t *testing.T, stdin, line string, words ...string) {
	t.Helper()
	ends(t, 1, stdin, line, words...)
}

// says runs a command line that must succeed with a message that contains these words.
func says(t *testing.T, stdin, line string, words ...string) {
	t.Helper()
	ends(t, 0, stdin, line, words...)
}

// ends runs a command line that must end with a status and a message that contains these words.
func ends(t *testing.T, status int, stdin, line string, words ...string) {
	t.Helper()
	r := atoll(stdin, line)
	if r.Status != status {
		t.Errorf("atoll %s: status %d\n%s", line, r.Status, r.Stderr)
	}
	planes.Says(t, "atoll "+line, r.Stderr, words...)
}

// removedAfterwards removes members after the test.
func removedAfterwards(t *testing.T, ids ...string) {
	for _, id := range ids {
		t.Cleanup(func() { must(t, "", "broker members remove "+id+" --yes --context broker --force") })
	}
}

// deployBroker deploys the broker. The cleanup deletes all MemberClusters, because those of
// former members stay.
func deployBroker(t *testing.T) {
	t.Helper()
	must(t, "", "broker deploy --context broker")
	t.Cleanup(func() {
		for _, clusterset := range []string{place, "staging"} {
			noError(t, on[lab.Broker].DeleteAllOf(context.Background(), &brokerv1alpha1.MemberCluster{}, client.InNamespace(clusterset)))
		}
	})
}

// server is the broker's URL for members.
func server(t *testing.T) string {
	t.Helper()
	c, err := theLab.Spec.Cluster(lab.Broker)
	noError(t, err)
	return "https://" + c.APIServer.String()
}

// joinFile creates a join file for a cluster.
func joinFile(t *testing.T, id string, flags ...string) string {
	t.Helper()
	return must(t, "", fmt.Sprintf("broker token create %s --context broker --server %s %s", id, server(t), strings.Join(flags, " ")))
}

// joined makes a cluster a member. It leaves after the test has stopped all its agents.
func joined(t *testing.T, cluster, flags string) {
	t.Helper()
	deployBroker(t)
	must(t, joinFile(t, cluster), "join - --context "+cluster+" "+flags)
	t.Cleanup(func() { must(t, "", "leave --yes --context "+cluster) })
}

// write writes a file into the test's temporary folder.
func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	noError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func expectGone(t *testing.T, cluster string, all ...client.Object) {
	t.Helper()
	planes.Gone(t, on[cluster], all...)
}
