package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// remembered are packages whose tests could start programs by what they import, and do not, or of which the go command knows what the programs read.
var remembered = map[string]string{
	"internal/cli/lab": "no lab is started", "test/arch": "go list reads what the tests open too", "test/flood": "only nightly", "test/planes": "has no tests", "test/simulation": "clusters in memory", "test/convergence": "clusters in memory",
}

// TestProgramsRunAnew has the Makefile run each time the tests of all packages that can start programs: the go command does not know what these depend on.
func TestProgramsRunAnew(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^WITH_PROGRAMS := ((?:.*\\\n)*.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no WITH_PROGRAMS")
	}
	anew := strings.Fields(strings.ReplaceAll(string(list[1]), "\\\n", " "))
	packages := repository(t)
	for _, p := range packages {
		starts := slices.ContainsFunc(p.Files, func(f File) bool {
			return (f.Test || below(p.Path, "test")) && slices.ContainsFunc(f.Imports(), func(path string) bool {
				return path == "os/exec" || strings.HasSuffix(path, "/atoll/lab") || strings.HasSuffix(path, "/test/planes")
			})
		})
		if starts && !slices.Contains(anew, "./"+p.Path) && remembered[p.Path] == "" && !below(p.Path, "tools") && !below(p.Path, "test/bench") { // tests of benchmarks measure nothing
			t.Errorf("%s: its tests can start programs, and are not in the Makefile's WITH_PROGRAMS", p.Path)
		}
	}
}
