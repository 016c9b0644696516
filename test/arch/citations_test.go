package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	citedTest     = regexp.MustCompile("Go `(Test[A-Za-z0-9]+)`")
	citedScenario = regexp.MustCompile("scenario `([a-z0-9-]+)`")
)

// tests holds everything that documents can cite, with its source text. For a function the text
// is its comment and body, or those of all functions with the name.
type tests struct {
	functions, scenarios map[string]string
}

// loadTests reads all tests of the repository.
func loadTests(t *testing.T, root string) tests {
	t.Helper()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	all := tests{map[string]string{}, map[string]string{}}
	for _, p := range packages {
		for _, f := range p.Files {
			if f.Test {
				all.addFunctions(t, root, f)
			}
		}
	}
	scripts, err := filepath.Glob(filepath.Join(root, "test", "scenario", "testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		all.scenarios[strings.TrimSuffix(filepath.Base(script), ".txtar")] = string(text)
	}
	return all
}

func (all tests) addFunctions(t *testing.T, root string, f File) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.Path)))
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range f.Syntax.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Recv != nil || !strings.HasPrefix(function.Name.Name, "Test") {
			continue
		}
		from := function.Pos()
		if function.Doc != nil {
			from = function.Doc.Pos()
		}
		all.functions[function.Name.Name] += string(source[f.Set.Position(from).Offset:f.Set.Position(function.End()).Offset])
	}
}

// TestDocsCiteTestsThatExist prevents stale citations in the tables of rules and their tests.
func TestDocsCiteTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	all := loadTests(t, root)
	cited := 0
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		missing, n := all.missing(string(text))
		cited += n
		for _, m := range missing {
			t.Errorf("%s cites %s, which does not exist", path, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < 10 {
		t.Errorf("only %d tests are cited in all documents: the patterns do not find them", cited)
	}
}

// missing returns the cited tests and scenarios that do not exist, and the number of all
// citations.
func (all tests) missing(text string) (missing []string, cited int) {
	for _, match := range citedTest.FindAllStringSubmatch(text, -1) {
		cited++
		if _, ok := all.functions[match[1]]; !ok {
			missing = append(missing, match[1])
		}
	}
	for _, match := range citedScenario.FindAllStringSubmatch(text, -1) {
		cited++
		if _, ok := all.scenarios[match[1]]; !ok {
			missing = append(missing, "scenario "+match[1])
		}
	}
	return missing, cited
}

func TestMissingCitationsAreFound(t *testing.T) {
	all := tests{map[string]string{"TestThere": ""}, map[string]string{"there": ""}}
	missing, cited := all.missing("Go `TestThere`, Go `TestGone`, scenario `there`, scenario `gone`")
	if cited != 4 || strings.Join(missing, ", ") != "TestGone, scenario gone" {
		t.Errorf("cited %d, missing %q", cited, missing)
	}
}
