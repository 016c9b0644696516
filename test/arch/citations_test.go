package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	citedTest     = regexp.MustCompile("Go `(Test[A-Za-z0-9]+)`")
	citedScenario = regexp.MustCompile("scenario `([a-z0-9-]+)`")
	testFunction  = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(t \*testing\.T\)`)
)

// TestDocsCiteTestsThatExist keeps tables of rules and the tests that prove them from
// going stale.
func TestDocsCiteTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	functions := map[string]bool{}
	var documents []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, match := range testFunction.FindAllStringSubmatch(string(source), -1) {
				functions[match[1]] = true
			}
		case filepath.Ext(path) == ".md":
			documents = append(documents, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	scenario := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, "test", "scenario", "testdata", name+".txtar"))
		return err == nil
	}
	cited := 0
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		missing, n := missingCitations(string(text), functions, scenario)
		cited += n
		for _, m := range missing {
			t.Errorf("%s names %s, which does not exist", path, m)
		}
	}
	if cited < 10 {
		t.Errorf("only %d tests are cited in %d documents: the patterns do not find them", cited, len(documents))
	}
}

// missingCitations returns the cited tests and scenarios that do not exist, and how many are
// cited at all.
func missingCitations(text string, functions map[string]bool, scenario func(string) bool) (missing []string, cited int) {
	for _, match := range citedTest.FindAllStringSubmatch(text, -1) {
		cited++
		if !functions[match[1]] {
			missing = append(missing, match[1])
		}
	}
	for _, match := range citedScenario.FindAllStringSubmatch(text, -1) {
		cited++
		if !scenario(match[1]) {
			missing = append(missing, "scenario "+match[1])
		}
	}
	return missing, cited
}

func TestMissingCitationsAreFound(t *testing.T) {
	text := "Go `TestThere`, Go `TestGone`, scenario `there`, scenario `gone`"
	missing, cited := missingCitations(text, map[string]bool{"TestThere": true}, func(s string) bool { return s == "there" })
	if cited != 4 || strings.Join(missing, ", ") != "TestGone, scenario gone" {
		t.Errorf("cited %d, missing %q", cited, missing)
	}
}
