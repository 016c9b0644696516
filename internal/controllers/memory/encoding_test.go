package memory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/permissions"
)

func TestEncoding(t *testing.T) {
	permitted, _ := permissions.Read(&corev1.ConfigMap{Data: map[string]string{
		"ranges.c2.eu": "fd00:1::/48 10.1.0.0/16", "ranges.c3": "", "namespaces.c3": "team-a-* shop", "namespaces.c4": "",
	}})
	memory := Memory{Clusterset: "set on https://broker", Permissions: permitted, Epoch: epoch.Memory{Place: "uid", Former: []string{"a", "b"}, Members: map[string]epoch.Known{
		"c1": {At: 1763740800123456}, "c2": {At: 1763740800123456, Awaited: true, After: 1763740800123456}, "c3": {}, "c4": {Awaited: true},
		"c5": {At: 1763740800123456, Awaited: true, After: 1763740800123456, Outdated: true},
		"c6": {At: 1763740800123456, Awaited: true}, "c7": {At: 1763740800123456, Awaited: true, After: 1763740800000000},
	}}}
	data := encode(memory)
	want := map[string]string{
		"_namespace": "uid", "_former": "a b", "_clusterset": "set on https://broker", "c1": "2025-11-21T16:00:00.123456Z", "c2": "2025-11-21T16:00:00.123456Z awaited", "c3": "none", "c4": "none awaited",
		"c5": "2025-11-21T16:00:00.123456Z awaited since a restore",
		"c6": "2025-11-21T16:00:00.123456Z awaited anew", "c7": "2025-11-21T16:00:00.123456Z awaited after 2025-11-21T16:00:00Z",
		"_ranges.c2.eu": "10.1.0.0/16, fd00:1::/48", "_ranges.c3": "", "_namespaces.c3": "shop, team-a-*", "_namespaces.c4": "",
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	data["c9"], data["c10"], data["c11"], data["Not an id"] = "yesterday", "none awaited soon", "none awaited after all", "none"
	data["_ranges.Not an id"], data["_other.c1"] = "10.0.0.0/8", "x"
	if diff := cmp.Diff(memory, decode(data)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// What members are permitted in another clusterset does not count in this one.
func TestMemoryOfAnotherClusterset(t *testing.T) {
	data := map[string]string{"_namespace": "uid", "_clusterset": "set on https://a", "_ranges.c2": "10.1.0.0/16", "c2": "none"}
	for clusterset, want := range map[string]int{"set on https://a": 1, "set on https://b": 0, "other on https://a": 0} {
		if m := decode(data).Of(clusterset); len(m.Permissions) != want || m.Epoch.Place != "uid" || len(m.Epoch.Members) != 1 {
			t.Errorf("in %s it is %+v", clusterset, m)
		}
	}
}

// What an older agent has written, and one that knew of nothing before, is read.
func TestEncodingOfOlderAgents(t *testing.T) {
	m := decode(map[string]string{"_namespace": "uid", "c1": "2025-11-21T16:00:00.123456Z awaited"})
	if want := (epoch.Known{At: 1763740800123456, Awaited: true, After: 1763740800123456}); m.Epoch.Members["c1"] != want || len(m.Epoch.Former) > 0 {
		t.Errorf("read %+v", m)
	}
}

// FuzzDecode reads what somebody may have written into the ConfigMap: what is taken from it is written and read the same.
func FuzzDecode(f *testing.F) {
	f.Add("uid", "a b", "c2", "2025-11-21T16:00:00.123456Z awaited after none since a restore")
	f.Add("", " ", "_ranges.c2", "10.0.0.0/8, none")
	f.Add("", " ", "_namespaces.c2", "shop, team-a-*, A")
	f.Add("u", "", "c1.eu", "9999-12-31T23:59:59.999999999+23:59 awaited anew")
	f.Add("u", "", "c1", "0000-01-01T00:00:00Z awaited after 0000-01-01T00:00:00Z")
	f.Fuzz(func(t *testing.T, place, former, key, value string) {
		read := decode(map[string]string{keyPlace: place, keyFormer: former, key: value})
		if diff := cmp.Diff(encode(read), encode(decode(encode(read)))); diff != "" {
			t.Errorf("written again (-first +again):\n%s", diff)
		}
	})
}
