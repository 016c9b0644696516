package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// remembered lists packages whose test results may be cached. Their imports would allow their
// tests to start programs, but the tests do not, or the go command tracks the files that the
// programs read.
var remembered = map[string]string{
	"internal/cli/lab": "no lab is started", "internal/install/dnswiring": "go list names a folder of modules, whose content has a checksum", "test/arch": "go list reads what the tests open too", "test/flood": "runs only nightly", "test/planes": "has no tests", "test/simulation": "clusters in memory", "test/convergence": "clusters in memory",
	"test/gatewayapi": "a module of its own",
}

// TestProgramsRunAnew checks that the Makefile always reruns tests that can start programs,
// because the go command does not know on which files these programs depend.
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
		if starts && !slices.Contains(anew, "./"+p.Path) && remembered[p.Path] == "" && !below(p.Path, "tools") && !below(p.Path, "test/bench") { // tests of benchmarks do not measure
			t.Errorf("%s: its tests can start programs, and are not in the Makefile's WITH_PROGRAMS", p.Path)
		}
	}
}
