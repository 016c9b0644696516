package membership

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
	"github.com/atoll-mcs/atoll/internal/doctor/verify"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestGatherHoldsNoSecret: the archive of gather contains neither the member's token nor
// secrets that users put into the wrong place. It contains everything that helps.
func TestGatherHoldsNoSecret(t *testing.T) {
	joined(t, "c1", "--wait 0")
	m, _ := membershipOf(t, "c1")
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: "note"}, Data: map[string]string{
		"copy": "the token is " + m.Token + ", keep it", "config": "password: hunter2",
		"encoded": base64.StdEncoding.EncodeToString([]byte(m.Token)),
	}}
	noError(t, on["c1"].Create(t.Context(), note))
	path := filepath.Join(t.TempDir(), "c1.tar.gz")
	must(t, "", "gather --context c1 --file "+path)
	must(t, "", "gather --context c1 --file "+path) // replaces the first archive
	files := unpack(t, path)
	for name, text := range files {
		for _, secret := range append(strings.Split(m.Token, "."), base64.StdEncoding.EncodeToString([]byte(m.Token))[:80], "hunter2", "kind: Secret\n") {
			if strings.Contains(text, secret) {
				t.Errorf("%.20s… is in %s", secret, name)
			}
		}
	}
	for name, words := range map[string]string{
		"versions.txt": "atoll ", "check.yaml": "ATOLL1001", "c1/versions.txt": "kubernetes v1.", "c1/status.yaml": "clusterset: atoll-clusterset",
		"c1/atoll-system/deployment.yaml": "name: atoll-agent", "c1/atoll-system/configmap.yaml": "name: note", "c1/clusterrole.yaml": "name: atoll-agent",
		"c1/customresourcedefinition.yaml": "serviceexports.multicluster.x-k8s.io", "c1/clusterproperty.yaml": "value: c1", "c1/broker/membercluster.yaml": "",
	} {
		if text, ok := files[name]; !ok || !strings.Contains(text, words) {
			t.Errorf("%s does not say %q but %q", name, words, text)
		}
	}
}

// unpack returns the files of an archive by name, without the top folder.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	noError(t, err)
	defer file.Close()
	zip, err := gzip.NewReader(file)
	noError(t, err)
	files := map[string]string{}
	for in := tar.NewReader(zip); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		noError(t, err)
		text, err := io.ReadAll(in)
		noError(t, err)
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(text)
	}
}

// checked runs atoll check without pods, and returns the outcomes by number.
func checked(t *testing.T, flags string) map[check.ID]check.Status {
	t.Helper()
	r := atoll("", "check --no-pods -o json "+flags)
	var results check.Results
	if err := json.Unmarshal([]byte(r.Stdout), &results); err != nil {
		t.Fatalf("atoll check %s: status %d, %v\n%s", flags, r.Status, err, r.Stderr)
	}
	if failed := results.Count(check.Error) > 0; failed != (r.Status == 79) {
		t.Errorf("atoll check %s: status %d with %d errors", flags, r.Status, results.Count(check.Error))
	}
	outcomes := map[check.ID]check.Status{}
	for _, result := range results {
		outcomes[result.ID] = result.Status
	}
	return outcomes
}

// TestCheckAsksAPIServers: the results of check about permissions and CRDs before joining,
// after joining, and after their removal; and for a user with few permissions.
func TestCheckAsksAPIServers(t *testing.T) {
	expect := func(flags string, want map[check.Check]check.Status) {
		t.Helper()
		got := checked(t, flags)
		for about, status := range want {
			if got[about.ID] != status {
				t.Errorf("atoll check %s: %s is %q, want %q", flags, about, got[about.ID], status)
			}
		}
	}
	expect("--pre --context c1", map[check.Check]check.Status{
		check.APIVersions: check.OK, check.Definitions: check.OK, check.InstallRights: check.OK, check.Membership: "",
		check.Nodes: check.Error, // the lab has no nodes
	})
	expect("--context c1", map[check.Check]check.Status{check.Membership: check.Error})
	limited(t)
	expect("--pre --context limited", map[check.Check]check.Status{check.InstallRights: check.Error})

	joined(t, "c1", "--wait 0")
	expect("--context c1", map[check.Check]check.Status{
		check.Definitions: check.OK, check.AgentRights: check.OK, check.DNSRights: check.OK, check.BrokerRights: check.OK, check.Membership: check.OK,
		check.AgentRuns: check.Error, check.Credentials: check.OK, check.Heartbeat: check.Error, check.BrokerHere: check.OK,
	})
	planes.Change(t, on["c1"], &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "atoll-dns"}}, func(r *rbacv1.ClusterRole) { r.Rules = r.Rules[:1] })
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "atoll-clusterset", Name: "member-c1"}}
	planes.Delete(t, on[lab.Broker], binding)
	eventually(t, "both are noticed", func() error {
		got := checked(t, "--context c1")
		if got[check.DNSRights.ID] != check.Error || got[check.AgentRights.ID] != check.OK || got[check.BrokerHere.ID] != check.Warning {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	joinFile(t, "c1") // the command re-creates the member's permissions
}

// TestOutpostsAreTakenAway: an interrupted command deletes its namespace. The next command
// deletes the namespace of a killed command, but not of a running one.
func TestOutpostsAreTakenAway(t *testing.T) {
	config, err := theLab.RESTConfig("c2")
	noError(t, err)
	left := func(name string, until time.Duration) *corev1.Namespace {
		n := namespace(name)
		n.Labels = map[string]string{outpost.Label: "check"}
		n.Annotations = map[string]string{"atoll.dev/until": time.Now().Add(until).UTC().Format(time.RFC3339)}
		return n
	}
	create(t, "c2", left("of-one-killed", -time.Minute), left("of-one-that-runs", time.Hour))

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	made := ""
	report, err := verify.Run(ctx, []trial.Member{{Context: "c2", ID: "c2", Config: config, Image: "none"}}, verify.Options{
		StepTimeout: time.Minute, Timeout: time.Minute,
		Say: func(format string, args ...any) {
			if made == "" {
				made = fmt.Sprint(args[0])
				go func() { // the pod stays pending, because there are no nodes
					again := time.NewTicker(20 * time.Millisecond)
					defer again.Stop()
					for ctx.Err() == nil && on["c2"].Get(ctx, client.ObjectKey{Namespace: made, Name: "listener"}, &corev1.Pod{}) != nil {
						<-again.C
					}
					interrupt()
				}()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cleaned up") {
		t.Errorf("verify says %v", err)
	}
	if last := report.Cases[len(report.Cases)-1]; last.Name != "clean up" || last.Failure != "" {
		t.Errorf("the last step was %+v", last)
	}
	if made != report.Namespace {
		t.Errorf("%q was made, and %q told", made, report.Namespace)
	}
	if err := on["c2"].Get(t.Context(), client.ObjectKey{Name: made}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s is left: %v", made, err)
	}
	expectGone(t, "c2", namespace("of-one-killed"))
	if err := on["c2"].Get(t.Context(), client.ObjectKey{Name: "of-one-that-runs"}, &corev1.Namespace{}); err != nil {
		t.Errorf("the namespace of a running command: %v", err)
	}
}
