package settings

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/install/setup"
)

// flagSet has a flag of each type that is kept.
func flagSet() *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("text", "default", "")
	flags.Bool("switch", false, "")
	flags.Int32("number", 2, "")
	flags.StringSlice("list", nil, "")
	flags.StringArray("array", nil, "")
	flags.StringToString("map", nil, "")
	flags.String("forgotten", "", "")
	return flags
}

var kept = []string{"array", "list", "map", "number", "switch", "text"}

// Flags that are stored have the same values in a later command, unless they are given there. Defaults are not stored.
func TestKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := func(label string) (all []string) {
			word := rapid.StringMatching(`[a-z]{1,3}(=[a-z0-9:/]{0,3})?`)
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(append(slices.Clone(kept), "forgotten")), rapid.ID[string]).Draw(t, label) {
				switch name {
				case "number":
					all = append(all, rapid.SampledFrom([]string{"--number=2", "--number=3"}).Draw(t, "number"))
				case "switch":
					all = append(all, rapid.SampledFrom([]string{"--switch", "--switch=false"}).Draw(t, "switch"))
				case "map":
					all = append(all, "--map="+rapid.StringMatching(`[a-z]=[a-z](,[a-z]=[a-z])?`).Draw(t, "map"))
				case "array", "list":
					for _, w := range rapid.SliceOfN(word, 1, 3).Draw(t, name) {
						all = append(all, "--"+name+"="+w)
					}
				default:
					all = append(all, "--"+name+"="+word.Draw(t, name))
				}
			}
			return all
		}
		first, given := flagSet(), args("first")
		if err := first.Parse(given); err != nil {
			t.Fatal(err)
		}
		stored := of(first, kept, nil)
		for name := range stored {
			if f := first.Lookup(name); !slices.Contains(kept, name) || !f.Changed {
				t.Errorf("%s is stored", name)
			}
		}
		second := flagSet()
		if err := second.Parse(args("second")); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		second.VisitAll(func(f *pflag.Flag) {
			if want[f.Name] = f.Value.String(); !f.Changed && slices.Contains(kept, f.Name) {
				want[f.Name] = first.Lookup(f.Name).Value.String()
			}
		})
		if err := restore(second, kept, stored); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		second.VisitAll(func(f *pflag.Flag) { got[f.Name] = f.Value.String() })
		if _, unordered := stored["map"]; unordered { // a map prints its keys in any order
			delete(got, "map")
			delete(want, "map")
		}
		if !maps.Equal(got, want) {
			t.Errorf("after %v: %v, want %v", given, got, want)
		}
		// A default that was given stays given: it may differ from what a join file says.
		for name, text := range of(second, kept, stored) {
			if f := second.Lookup(name); !f.Changed && stored[name] == "" {
				t.Errorf("%s, which nobody gave, is stored as %q", name, text)
			}
		}
		for name := range stored {
			if f := second.Lookup(name); of(second, kept, stored)[name] == "" && f.Value.String() != "" {
				t.Errorf("%s is forgotten", name)
			}
		}
	})
}

// A stored value that somebody has edited is an error that names the flag.
func TestRestoreRefuses(t *testing.T) {
	err := restore(flagSet(), kept, setup.Settings{"number": "many"})
	if want := `the stored value of --number, "many"`; err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("the error is %v", err)
	}
}
