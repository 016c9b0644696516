package setup

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Whatever --owns and --namespaces do: who owns a namespace may export it, nobody else may while it is reserved, and what is neither
// permitted, owned nor ended stays as it is.
func TestOwners(t *testing.T) {
	ids, namespaces := []names.ClusterID{"c1", "c2", "c3"}, []string{"shop", "bank", "team-a-x", "other"}
	rapid.Check(t, func(t *rapid.T) {
		config := &corev1.ConfigMap{Data: map[string]string{}}
		if rapid.Bool().Draw(t, "deny by default") {
			config.Data["namespaces"] = ""
		}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			pattern := rapid.SampledFrom([]string{"shop", "bank", "team-a-*"}).Draw(t, "pattern")
			example := strings.ReplaceAll(pattern, "*", "x")
			before, _ := permissions.Read(config)
			var others []names.ClusterID // owners
			for _, other := range ids {
				if other != id && before.Owns(other, example) {
					others = append(others, other)
				}
			}
			change, kind := PermissionsChange{Cluster: id}, rapid.IntRange(0, 2).Draw(t, "kind")
			switch kind {
			case 0:
				change.Owns = []string{pattern}
			case 1:
				change.Disowns = []string{pattern}
			case 2:
				change.SetNamespaces = true
				change.Namespaces, _ = permissions.ParseNamespaces(rapid.SampledFrom([]string{"*", "shop", "other"}).Draw(t, "to"))
			}
			change.of(config)
			after, mistakes := permissions.Read(config)
			if len(mistakes) > 0 {
				t.Fatal(mistakes)
			}
			owns := after.Owns(id, example)
			switch {
			case kind == 0 && (!owns || !after.MayExport(id, example)):
				t.Fatalf("%s does not own %s: %v", id, pattern, config.Data)
			case kind == 1 && len(others) == 0 && after.IsReserved(example):
				t.Fatalf("%s is reserved for nobody: %v", pattern, config.Data)
			case kind == 1 && len(others) > 0 && owns:
				t.Fatalf("%s still owns %s: %v", id, pattern, config.Data)
			case kind == 2 && before.Owns(id, example) && !owns:
				t.Fatalf("%s does not own %s any more: %v", id, pattern, config.Data)
			}
			for _, other := range ids {
				for _, n := range namespaces {
					if after.IsReserved(n) && after.MayExport(other, n) != after.Owns(other, n) {
						t.Fatalf("%s, %s: %v", other, n, config.Data)
					}
					if other != id && !after.IsReserved(n) && !before.IsReserved(n) && before.MayExport(other, n) != after.MayExport(other, n) {
						t.Fatalf("%s has other rights to %s: %v", other, n, config.Data)
					}
				}
			}
			for _, other := range others {
				if !after.Owns(other, example) {
					t.Fatalf("%s does not own %s any more: %v", other, pattern, config.Data)
				}
			}
		}
	})
}

// The list shows what a member owns, not what it may export besides.
func TestOwnedAreListed(t *testing.T) {
	config := PermissionsChange{Cluster: "c1", Owns: []string{"shop"}}.of(&corev1.ConfigMap{})
	var got []string
	for _, row := range listPermissions(config, "c2", nil, nil, nil) {
		got = append(got, fmt.Sprint(row.Cluster, row.Namespaces, row.Owns))
	}
	if text := strings.Join(got, ", "); text != "c1[* shop] [shop], c2[*] []" {
		t.Error(text)
	}
}
