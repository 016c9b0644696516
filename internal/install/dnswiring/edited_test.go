package dnswiring

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What others have added to an object that was made here stays when it is unwired.
func TestMadeAndShared(t *testing.T) {
	is := custom("", "")
	is.Custom = nil
	is = is.apply(must(Install(is, wiring, []Form{CoreDNSCustom})))
	is.Custom.Data["corp.server"] = "corp.example {\n}\n"
	was := is.apply(must(Uninstall(is, Forms())))
	if was.Custom == nil || len(was.Custom.Data) != 1 || was.Custom.Annotations != nil {
		t.Errorf("coredns-custom: %v", was.Custom)
	}
	if gone := must(Uninstall(was, Forms())); len(gone) > 0 {
		t.Errorf("uninstalling twice: %s", describe(nil, gone))
	}
}

// The empty key that render writes for a removed one goes with it; other people's empty keys stay.
func TestEmptyKey(t *testing.T) {
	is := custom("atoll.server", "")
	is.Custom.Data["corp.server"] = ""
	changes := must(Uninstall(is, Forms()))
	if got, want := changes[0].Diff(), "--- configmap kube-system/coredns-custom data.atoll.server\n+++ (none)\n"; got != want {
		t.Errorf("the diff is %q, want %q", got, want)
	}
	is = is.apply(changes)
	if _, left := is.Custom.Data["atoll.server"]; left || len(is.Custom.Data) != 1 {
		t.Errorf("coredns-custom has %q", is.Custom.Data)
	}
}

// Stub domains may be put in another order, and written otherwise, by people.
func TestEditedStubs(t *testing.T) {
	gke := Cluster{KubeDNSRuns: true}
	gke = gke.apply(must(Install(gke, wiring, []Form{KubeDNS})))
	edited := "{ \"a.example\": [\"10.0.0.1\"],\n \"clusterset.local\": [ \"10.96.0.53\" ] }"
	gke.KubeDNS.Data["stubDomains"] = edited

	if again := must(Install(gke, wiring, []Form{KubeDNS})); !again[0].None() {
		t.Errorf("installing again: %s", describe(nil, again))
	}
	gke = gke.apply(must(Uninstall(gke, Forms())))
	if diff := cmp.Diff(map[string]string{"stubDomains": "{\n  \"a.example\": [\n    \"10.0.0.1\"\n  ]\n}\n"}, gke.KubeDNS.Data); diff != "" {
		t.Error(diff)
	}
	if gke.KubeDNS.Annotations != nil {
		t.Errorf("annotations stay: %v", gke.KubeDNS.Annotations)
	}
}

// Of OpenShift's entry people may set the rest; a list that was empty stays one.
func TestEditedServers(t *testing.T) {
	is := Cluster{OpenShift: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "default"},
		"spec":     map[string]any{"servers": []any{}},
	}}}
	was := is.text(t)
	is = is.apply(must(Install(is, wiring, []Form{OpenShift})))
	servers, _, _ := unstructured.NestedSlice(is.OpenShift.Object, "spec", "servers")
	asMap(asMap(servers[0])["forwardPlugin"])["policy"] = "Sequential"
	if err := unstructured.SetNestedSlice(is.OpenShift.Object, servers, "spec", "servers"); err != nil {
		t.Fatal(err)
	}
	other := Wiring{Zones: wiring.Zones, Servers: []netip.Addr{netip.MustParseAddr("10.96.0.99")}}
	is = is.apply(must(Install(is, other, []Form{OpenShift})))
	servers, _, _ = unstructured.NestedSlice(is.OpenShift.Object, "spec", "servers")
	want := []any{map[string]any{
		"name": "atoll", "zones": []any{"clusterset.local"},
		"forwardPlugin": map[string]any{"policy": "Sequential", "upstreams": []any{"10.96.0.99"}},
	}}
	if diff := cmp.Diff(want, servers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(was, is.apply(must(Uninstall(is, Forms()))).text(t)); diff != "" {
		t.Error(diff)
	}
}
