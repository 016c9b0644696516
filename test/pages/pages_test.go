package pages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommands(t *testing.T) {
	for script, want := range map[string][]Command{
		"a b  c\n":                              {{"a", "b", "c"}},
		"a # more\n\n# nothing\nb":              {{"a"}, {"b"}},
		"a 'b c' \"d 'e'\" f\\ g":               {{"a", "b c", "d 'e'", "f g"}},
		"a \\\n  -b":                            {{"a", "-b"}},
		"a | b && c; d":                         {{"a"}, {"b"}, {"c"}, {"d"}},
		"export P=$(x y):$P":                    {{"x", "y"}, {"export", "P=…:$P"}},
		"source <(x \"$(y z)\")":                {{"y", "z"}, {"x", "…"}, {"source", "…"}},
		"A=b c d":                               {{"c", "d"}},
		"$ a b\nsays this\n$ c   # why\nthat\n": {{"a", "b"}, {"c"}},
	} {
		got, err := Commands(script)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", script, err, diff)
		}
	}
	for _, script := range []string{"a 'b", "a $(b"} {
		if got, err := Commands(script); err == nil {
			t.Errorf("%q: %v", script, got)
		}
	}
	if got := (Command{"a", "b", ">", "c", "2>/dev/null", ">d"}).WithoutRedirections(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestSavedBlock(t *testing.T) {
	page, err := Parse("x.md", "Save this as `web.yaml`. It is short:\n\n```yaml\na: b\n```\n\n```\nkubectl apply -f web.yaml\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, b := range page.Blocks {
		files = append(files, b.File)
	}
	if diff := cmp.Diff([]string{"web.yaml", ""}, files); diff != "" {
		t.Errorf("wrong files (-want +got):\n%s", diff)
	}
}
