package status

import (
	"maps"
	"slices"
	"testing"
)

func TestAnnounced(t *testing.T) {
	var a Announced[string, string]
	for i, tt := range []struct {
		object      string
		parts       map[string]string
		added, gone []string
	}{
		{"web", map[string]string{"a": "1", "b": "1"}, []string{"a", "b"}, nil},
		{"web", map[string]string{"a": "1", "b": "2"}, []string{"b"}, nil},
		{"db", map[string]string{"a": "1"}, []string{"a"}, nil},
		{"web", map[string]string{"b": "2"}, nil, []string{"a"}},
		{"web", nil, nil, []string{"b"}},
		{"web", map[string]string{"b": "2"}, []string{"b"}, nil},
	} {
		added, gone := a.Update(tt.object, tt.parts)
		if got := slices.Sorted(maps.Keys(added)); !slices.Equal(got, tt.added) {
			t.Errorf("%d: added %v, want %v", i, got, tt.added)
		}
		if got := slices.Sorted(maps.Keys(gone)); !slices.Equal(got, tt.gone) {
			t.Errorf("%d: gone %v, want %v", i, got, tt.gone)
		}
	}
}
