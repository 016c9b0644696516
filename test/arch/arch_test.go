package arch

import (
	"slices"
	"strings"
	"testing"
)

// root is the path of the repository.
const root = "../.."

// repository parses the repository's code.
func repository(t *testing.T) []Package {
	t.Helper()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 5 {
		t.Fatalf("only %d packages: this is not the repository", len(packages))
	}
	return packages
}

// TestLaws checks every law.
func TestLaws(t *testing.T) {
	packages := repository(t)
	module, err := Module(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]string{
		"folders":          folders(table, packages),
		"imports":          imports(module, table, packages),
		"folder-names":     folderNames(packages),
		"package-docs":     packageDocs(packages),
		"file-lengths":     fileLengths(packages),
		"function-lengths": functionLengths(packages),
		"command-lengths":  commandLengths(packages),
		"no-sleeping":      sleeps(sleepsAllowed, packages),
		"documented":       undocumented(packages),
	} {
		t.Run(name, func(t *testing.T) {
			for _, place := range broken {
				t.Error(place)
			}
		})
	}
}

// TestAllowListIsCurrent reports exceptions that are no longer necessary.
func TestAllowListIsCurrent(t *testing.T) {
	sleeping := sleeps(nil, repository(t))
	for file := range sleepsAllowed {
		if !slices.ContainsFunc(sleeping, func(place string) bool { return strings.HasPrefix(place, file+":") }) {
			t.Errorf("%s does not sleep. Remove the file from sleepsAllowed.", file)
		}
	}
}
