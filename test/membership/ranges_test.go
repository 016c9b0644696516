package membership

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
)

// The broker's owner says which addresses members may have, sees what of theirs is outside, and takes it back.
func TestRangesOfMembers(t *testing.T) {
	refused(t, "", "broker ranges get --context broker --namespace nowhere", "there is no clusterset nowhere", "atoll broker deploy")
	must(t, "", "broker deploy --context broker")
	allowAnyAfterwards(t)
	const ranges = "broker ranges "
	const at = " --context broker"
	for line, words := range map[string][]string{
		"set":                         {"requires at least 1 arg"},
		"set c2":                      {"there is no range", "--none"},
		"set c2 10.1.2.3":             {`"10.1.2.3" is an address and no range`, "10.1.2.3/32"},
		"set c2 10.1.2.3/16 x":        {"10.1.0.0/16", `"x" is no range`},
		"set C2 10.1.0.0/16":          {"C2"},
		"set c2 10.1.0.0/16 --none":   {"--none"},
		"clear":                       {"--all"},
		"clear c2 --all":              {"--all"},
		"get c9":                      {"there is no member c9"},
		"set c2 10.1.0.0/16 -o sheet": {"json"},
	} {
		if r := atoll("", ranges+line+at); r.status == 0 {
			t.Errorf("atoll %s%s: it does that", ranges, line)
		} else {
			for _, w := range words {
				if !strings.Contains(r.stderr, w) {
					t.Errorf("atoll %s%s: does not say %q but\n%s", ranges, line, w, r.stderr)
				}
			}
		}
	}
	config := allowedTo("")
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(config), config); !apierrors.IsNotFound(err) {
		t.Fatalf("what was refused is %+v, %v", config.Data, err)
	}

	// Before it is a member; and nothing with --dry-run.
	must(t, "", ranges+"set c2 10.2.0.0/16 --dry-run"+at)
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(config), config); !apierrors.IsNotFound(err) {
		t.Errorf("what would be is: %+v, %v", config.Data, err)
	}
	r := atoll("", ranges+"set c2 10.2.0.0/16,fd00:2::/48 10.2.3.0/24"+at)
	if r.status != 0 || !strings.Contains(r.stderr, "c2 is no member yet") || strings.Contains(r.stderr, "has lost it") || strings.Contains(r.stderr, "not heeded") {
		t.Errorf("status %d\n%s", r.status, r.stderr)
	}
	expectAllowed(t, map[string]string{"c2": "10.2.0.0/16, fd00:2::/48"})

	c2 := asMember(t, invited(t, "c2"))
	t.Cleanup(func() { must(t, "", "broker remove c2 --context broker --force") })
	published := sliceOf("c2", "shop", "web")
	published.Labels[names.LabelServiceName] = "web"
	published.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.2.0.1", "10.3.0.1"}}, {Addresses: []string{"10.2.0.2"}}}
	for _, o := range []client.Object{memberOf("c2"), leaseOf("c2"), published} {
		if err := c2.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "", ranges+"set c3 --none"+at)
	must(t, "", "broker deploy --context broker") // again, and nothing is different
	expectAllowed(t, map[string]string{"c2": "10.2.0.0/16, fd00:2::/48", "c3": ""})
	if table := must(t, "", ranges+"get -o wide"+at); strings.Join(strings.Fields(table), " ") != "CLUSTER ALLOWED PUBLISHED OUTSIDE MISTAKES EXAMPLES c2 10.2.0.0/16,fd00:2::/48 3 1 - 10.3.0.1 (shop/web) c3 none 0 0 - -" {
		t.Errorf("the table is\n%s", table)
	}
	var rows []struct {
		Cluster            string
		Member, Restricted bool
		Ranges, Mistakes   []string
		Published, Outside int
	}
	if err := json.Unmarshal([]byte(must(t, "", ranges+"get c2 -o json"+at)), &rows); err != nil || len(rows) != 1 ||
		!rows[0].Member || !rows[0].Restricted || len(rows[0].Ranges) != 2 || rows[0].Published != 3 || rows[0].Outside != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	r = atoll("", ranges+"set c2 10.3.0.0/16 --dry-run -o yaml"+at)
	if !strings.Contains(r.stderr, "of the 3 addresses that c2 publishes 2 are outside") || !strings.Contains(r.stderr, "nothing is changed") || !strings.Contains(r.stdout, "- 10.3.0.0/16") {
		t.Errorf("%s\n%s", r.stdout, r.stderr)
	}
	expectAllowed(t, map[string]string{"c2": "10.2.0.0/16, fd00:2::/48", "c3": ""})

	// What somebody has written by hand is told, and goes.
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
		t.Fatal(err)
	}
	config.Data["c2"], config.Data["Somebody"] = "10.2.0.0/16 10.3.0.1", "10.0.0.0/8"
	config.BinaryData = map[string][]byte{"c4": {0xff}}
	if err := on[lab.Broker].Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	table := must(t, "", ranges+"get"+at)
	for _, want := range []string{"range of it alone is 10.3.0.1/32", "Somebody", `c4 none 0 0 "`} {
		if !strings.Contains(strings.Join(strings.Fields(table), " "), want) {
			t.Errorf("there is no %q in\n%s", want, table)
		}
	}
	must(t, "", ranges+"set c4 10.4.0.0/16"+at)
	must(t, "", ranges+"clear Somebody c3 --dry-run"+at)
	must(t, "", ranges+"clear Somebody c3"+at)
	expectAllowed(t, map[string]string{"c2": "10.2.0.0/16 10.3.0.1", "c4": "10.4.0.0/16"})
	must(t, "", ranges+"clear --all"+at)
	must(t, "", ranges+"clear --all"+at)
	expectAllowed(t, map[string]string{})
	if table := must(t, "", ranges+"get -o name"+at); table != "c2\n" {
		t.Errorf("the names are\n%s", table)
	}
	// To clear what is not there says so to agents that remember something.
	if err := on[lab.Broker].Delete(t.Context(), allowedTo("")); err != nil {
		t.Fatal(err)
	}
	if r := atoll("", ranges+"clear c3"+at); r.status != 0 || !strings.Contains(r.stderr, "has lost it") || !strings.Contains(r.stdout, "c2") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	expectAllowed(t, map[string]string{})
	if r := atoll("", ranges+"set c2 10.2.0.0/16"+at); strings.Contains(r.stderr, "has lost it") {
		t.Errorf("it is there\n%s", r.stderr)
	}

	// Where the broker was deployed by an older version nobody sees it, and so it is said.
	role := &rbacv1.Role{}
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKey{Namespace: place, Name: rights.MemberRole}, role); err != nil {
		t.Fatal(err)
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "configmaps") })
	if err := on[lab.Broker].Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"get", "set c2 10.2.0.0/16", "clear c2"} {
		r := atoll("", ranges+line+at)
		if r.status != 0 || !strings.Contains(r.stderr, "not heeded by those who have the role atoll-member") || !strings.Contains(r.stderr, "Run: atoll broker deploy --context broker\n") {
			t.Errorf("atoll %s%s: status %d\n%s", ranges, line, r.status, r.stderr)
		}
	}
	must(t, "", "broker deploy --context broker")
	if r := atoll("", ranges+"get"+at); strings.Contains(r.stderr, "not heeded") {
		t.Errorf("after deploying the broker again\n%s", r.stderr)
	}
}

// allowAnyAfterwards has nothing be said after the test of which addresses members may have.
func allowAnyAfterwards(t *testing.T) {
	t.Cleanup(func() {
		if err := on[lab.Broker].Delete(context.Background(), allowedTo("")); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// expectAllowed checks what is written about members.
func expectAllowed(t *testing.T, want map[string]string) {
	t.Helper()
	have := &corev1.ConfigMap{}
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(allowedTo("")), have); err != nil {
		t.Error(err)
		return
	}
	if len(have.Data) != len(want) || len(have.BinaryData) > 0 {
		t.Errorf("written is %+v, %v", have.Data, have.BinaryData)
	}
	for id, text := range want {
		if got, there := have.Data[id]; !there || got != text {
			t.Errorf("of %s is written %q, want %q", id, have.Data, text)
		}
	}
}
