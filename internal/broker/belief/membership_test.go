package belief

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// A removal counts once, in the order in which objects are seen.
func TestMembership(t *testing.T) {
	type seen struct {
		uid        string
		generation int64
		removed    bool
	}
	for name, tt := range map[string]struct {
		remembered Membership
		seen       []seen
		want       string // of each: present, removed or doubted
	}{
		"removed while it is watched":                  {Membership{}, []seen{{"a", 3, false}, {"a", 4, true}}, "pr"},
		"removed before this process, never imported":  {Membership{}, []seen{{"a", 4, true}}, "r"},
		"removed while no process ran":                 {seenAt("a", 3), []seen{{"a", 9, true}}, "r"},
		"the same object again":                        {seenAt("a", 3), []seen{{"a", 9, true}, {"a", 9, true}}, "rr"},
		"restored from before it joined again":         {seenAt("a", 7), []seen{{"a", 5, true}, {"a", 5, true}}, "dd"},
		"restored, and removed again":                  {seenAt("a", 7), []seen{{"a", 5, true}, {"a", 6, true}}, "dr"},
		"restored, a restart, and removed again":       {Membership{Seen: Revision{"a", 5}, Doubted: true}, []seen{{"a", 5, true}, {"a", 6, true}}, "dr"},
		"restored, and it joins again":                 {seenAt("a", 7), []seen{{"a", 5, true}, {"a", 6, false}, {"a", 7, true}}, "dpr"},
		"created again, as removed":                    {seenAt("a", 7), []seen{{"b", 1, true}}, "d"},
		"created again":                                {seenAt("a", 7), []seen{{"b", 1, false}, {"b", 2, true}}, "pr"},
		"restored to a present one, and removed":       {seenAt("a", 7), []seen{{"a", 4, false}, {"a", 5, true}}, "pr"},
		"changed, and restored to the same membership": {seenAt("a", 3), []seen{{"a", 9, false}, {"a", 5, false}, {"a", 6, true}}, "ppr"},
		"removed, and restored as removed":             {seenAt("a", 3), []seen{{"a", 9, true}, {"a", 2, true}}, "rr"},
		"left and joined again unseen, and restored":   {seenAt("a", 3), []seen{{"a", 7, false}, {"a", 4, true}}, "pd"},
		"removed, and joined again":                    {seenAt("a", 3), []seen{{"a", 9, true}, {"a", 10, false}, {"a", 9, true}}, "rpd"},
	} {
		m, got := tt.remembered, ""
		for _, s := range tt.seen {
			switch m = m.See(Revision{UID: types.UID(s.uid), Generation: s.generation}, s.removed); {
			case m.Removed:
				got += "r"
			case m.Doubted:
				got += "d"
			default:
				got += "p"
			}
			if ParseRevision(m.Seen.String()) != m.Seen {
				t.Errorf("%s: %v is read as %v", name, m.Seen, ParseRevision(m.Seen.String()))
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for _, text := range []string{"", "/1", "a", "a/", "a/x"} {
		if got := ParseRevision(text); got != (Revision{}) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func seenAt(uid types.UID, generation int64) Membership {
	return Membership{Seen: Revision{uid, generation}}
}
