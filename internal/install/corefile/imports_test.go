package corefile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/caddy/caddyfile"
	"pgregory.net/rapid"
)

// files is a directory of files that Assemble reads.
type files map[string]string

func (f files) read(pattern string) (found []Source, known bool) {
	for name, text := range f {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			found = append(found, Source{Name: name, Text: text})
		}
	}
	slices.SortFunc(found, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return found, strings.HasPrefix(pattern, "/c/")
}

func TestAssemble(t *testing.T) {
	for _, test := range []struct {
		name, text string
		files      files
		want       string // blocks by "|", each with its file, its keys and its directives
		unread     string
	}{
		{"a snippet", "(s) {\n bind 10.0.0.1\n}\na {\n import s\n log\n}", nil, "/c/Corefile a: bind 10.0.0.1; log", ""},
		{"a snippet in a snippet", "(s) {\n log\n}\n(u) {\n import s\n bind lo\n}\na {\n import u\n}", nil, "/c/Corefile a: log; bind lo", ""},
		{"a snippet of blocks", "(s) {\n a {\n log\n }\n}\nimport s\n", nil, "/c/Corefile a: log", ""},
		{"a snippet in a directive", "(s) {\n c d\n e\n}\na {\n b {\n import s\n f\n }\n}", nil, "/c/Corefile a: b {\n        c d\n        e\n        f\n    }", ""},
		{"files", "import d/*.x\na {\n}\n", files{"/c/d/1.x": "b {\n log\n}", "/c/d/2.x": "c {\n}", "/c/d/3.y": "e {\n}"}, "/c/d/1.x b: log|/c/d/2.x c: |/c/Corefile a: ", ""},
		{"an absolute path", "import /c/d/*", files{"/c/d/1": "b {\n}"}, "/c/d/1 b: ", ""},
		{"a file in a block", "a {\n import d/1\n log\n}", files{"/c/d/1": "bind lo"}, "/c/Corefile a: bind lo; log", ""},
		{"relative to the file", "import d/1", files{"/c/d/1": "import 2", "/c/d/2": "b {\n}"}, "/c/d/2 b: ", ""},
		{"no files", "import d/*\na {\n}", nil, "/c/Corefile a: ", ""},
		{"files that nobody knows", "import /e/*.conf\na {\n import {$F}\n import /e/*.conf\n}", nil, "/c/Corefile a: ", "/e/*.conf {$F}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := Assemble(Source{"/c/Corefile", test.text}, test.files.read)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range file.Blocks {
				var directives []string
				for _, d := range b.Directives {
					directives = append(directives, d.String())
				}
				got = append(got, b.File+" "+strings.Join(b.Keys, " ")+": "+strings.Join(directives, "; "))
			}
			if got := strings.Join(got, "|"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := strings.Join(file.Unread, " "); got != test.unread {
				t.Errorf("unread: got %q, want %q", got, test.unread)
			}
		})
	}
}

func TestAssembleRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no file", "import d/1", "line 1: the file d/1 to import does not exist"},
		{"a cycle of snippets", "(a) {\n import b\n}\n(b) {\n import a\n}\nc {\n import a\n}", "form a cycle"},
		{"a snippet twice", "(a) {\n}\n(a) {\n}", "line 3: the snippet a is defined twice"},
		{"two wildcards", "import */*", "more than one wildcard"},
		{"no argument", "a {\n import\n}", "line 2: the directive import takes exactly one argument"},
	} {
		if _, err := Assemble(Source{"/c/Corefile", test.text}, files{}.read); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %q", test.name, err, test.want)
		}
	}
}

// A Corefile with imports is assembled as CoreDNS assembles it from a directory.
func TestAssembleIsCoreDNSs(t *testing.T) {
	base := t.TempDir()
	lines := func(of ...string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(of), 0, 4).Draw(t, "lines"), "\n") + "\n"
		})
	}
	inside := lines("log", "bind 10.0.0.1", "import s1", "import s2", "import d/*.in", "import 1.in", "import d/1.in", "hosts {\n import s1\n fallthrough\n}", "import none/*")
	outside := lines("import d/*.out", "import *.out", "import 2.out", "import d/2.out", "a {\nlog\n}", "b c:53 {\n import s2\n}", "import s3")
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		main := "(s1) {\n" + inside.Draw(t, "s1") + "}\n(s2) {\n" + inside.Draw(t, "s2") + "}\n(s3) {\n" + outside.Draw(t, "s3") + "}\n" +
			outside.Draw(t, "before") + "e {\n" + inside.Draw(t, "e") + "}\n" + outside.Draw(t, "after")
		all := files{}
		for _, name := range []string{"1.in", "2.in"} {
			all[filepath.Join(dir, "d", name)] = inside.Draw(t, name)
		}
		for _, name := range []string{"1.out", "2.out"} {
			all[filepath.Join(dir, "d", name)] = outside.Draw(t, name)
		}
		if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range all {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		name := filepath.Join(dir, "Corefile")
		file, err := Assemble(Source{name, main}, func(pattern string) ([]Source, bool) {
			found, _ := all.read(pattern)
			return found, true
		})
		if err != nil {
			return // more is refused here
		}
		blocks, err := caddyfile.Parse(name, strings.NewReader(main), nil)
		if err != nil {
			t.Fatalf("%q %q: CoreDNS refuses it: %v", main, all, err)
		}
		if got, want := outlineOf(file), coreDNSs(blocks); got != want {
			t.Errorf("%q %q:\ngot  %s\nwant %s", main, all, got, want)
		}
	})
}

func outlineOf(file File) string {
	var all []string
	for _, b := range file.Blocks {
		words := map[string][]string{}
		for _, d := range b.Directives {
			for _, w := range tokens(Source{Text: " " + d.String()}) {
				words[d.Name] = append(words[d.Name], w.text)
			}
		}
		all = append(all, fmt.Sprint(b.Keys, words))
	}
	return strings.Join(all, "\n")
}

func coreDNSs(blocks []caddyfile.ServerBlock) string {
	var all []string
	for _, b := range blocks {
		words := map[string][]string{}
		for name, tokens := range b.Tokens {
			for _, w := range tokens {
				words[name] = append(words[name], w.Text)
			}
		}
		all = append(all, fmt.Sprint(b.Keys, words))
	}
	return strings.Join(all, "\n")
}
