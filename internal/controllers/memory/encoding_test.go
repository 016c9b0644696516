package memory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atoll-mcs/atoll/internal/epoch"
)

func TestEncoding(t *testing.T) {
	memory := epoch.Memory{Place: "uid", Members: map[string]epoch.Known{
		"c1": {At: 1763740800123456}, "c2": {At: 1763740800123456, Awaited: true, After: 1763740800123456}, "c3": {}, "c4": {Awaited: true},
		"c5": {At: 1763740800123456, Awaited: true, After: 1763740800123456, Outdated: true},
	}}
	data := encode(memory)
	want := map[string]string{
		"_namespace": "uid", "c1": "2025-11-21T16:00:00.123456Z", "c2": "2025-11-21T16:00:00.123456Z awaited", "c3": "none", "c4": "none awaited",
		"c5": "2025-11-21T16:00:00.123456Z awaited since a restore",
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	data["c9"], data["Not an id"] = "yesterday", "none"
	if diff := cmp.Diff(memory, decode(data)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}
