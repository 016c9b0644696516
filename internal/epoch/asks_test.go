package epoch

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestParseAsks(t *testing.T) {
	many := Asks{}
	for i := range 100 {
		many[fmt.Sprintf("c%d", i)] = 5
	}
	var long []string
	for id := range many {
		long = append(long, id+"=5")
	}
	for text, want := range map[string]Asks{
		"":                          {},
		"c1=5":                      {"c1": 5},
		"c1=5,c2=7":                 {"c1": 5, "c2": 7},
		"c1=5,c1=6":                 {"c1": 6},
		"c1=0,c2=-1,c3=x,c4,=5,c6=": {},
		",,c1=5,":                   {"c1": 5},
		"c1=99999999999999999999":   {},
	} {
		if got := ParseAsks(text); !maps.Equal(got, want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	if got := ParseAsks(strings.Join(long, ",")); len(got) != maxAsks {
		t.Errorf("%d of a hundred were read, want %d", len(got), maxAsks)
	}
}

func FuzzParseAsks(f *testing.F) {
	f.Add("c1=5,c2=7")
	f.Add("c1=,=,,")
	f.Fuzz(func(t *testing.T, text string) {
		asks := ParseAsks(text)
		if again := ParseAsks(asks.String()); !maps.Equal(asks, again) {
			t.Errorf("%q is %v, and then %v", text, asks, again)
		}
	})
}

// Who is awaited is asked for a statement that counts.
func TestWhoIsAwaitedIsAsked(t *testing.T) {
	j := NewJudge(Memory{})
	look := func(c1, c2 Statement) {
		j.Looked(j.Begin(), Reading{Place: "uid", Version: 100, Members: map[string]Statement{"c1": c1, "c2": c2}, Shown: map[string]bool{"c1": true, "c2": true}})
	}
	is := func(what string, want Asks) {
		t.Helper()
		if got := j.Awaited(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	said := func(at int64, seen uint64) Statement { return Statement{Place: "uid", At: at, Seen: seen} }
	look(said(1, 10), Statement{})
	is("nobody", Asks{})
	j.Back()
	is("an earlier state was restored, and c2 makes no statements", Asks{"c1": 1})
	look(said(1, 10), Statement{})
	is("nothing new", Asks{"c1": 1})
	look(said(2, 11), Statement{})
	is("it has said so", Asks{})
	j.Vanished("c1", 50)
	is("a record of its has gone", Asks{"c1": 2})
	look(said(3, 40), Statement{})
	is("it has said so without having seen that", Asks{"c1": 3})
	look(said(4, 50), Statement{})
	is("it has", Asks{})
}
