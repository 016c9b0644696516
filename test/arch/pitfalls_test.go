package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	pitfallRow = regexp.MustCompile(`(?m)^\| *(\d+) *\|(.*)$`)
	// named matches citations in a test: "Pitfall 7", "Pitfalls 9 and 10".
	named  = regexp.MustCompile(`Pitfalls?\s(?://\s)?(\d+(?:(?:, | and )\d+)*)`)
	number = regexp.MustCompile(`\d+`)
)

// notBuilt is the last cell of a row whose subject is not built yet.
const notBuilt = "not built yet"

// TestPitfallsAreGuarded checks docs/explanation/pitfalls.md: each row names the tests that
// guard against the pitfall, or says that its subject is not built. The tests must cite the
// pitfall.
func TestPitfallsAreGuarded(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "pitfalls.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range unguarded(string(list), loadTests(t, root)) {
		t.Errorf("docs/explanation/pitfalls.md: %s", problem)
	}
}

// unguarded returns the problems of a list of pitfalls.
func unguarded(list string, all tests) (problems []string) {
	rows := pitfallRow.FindAllStringSubmatch(list, -1)
	for i, row := range rows {
		n, text := row[1], row[2]
		if n != strconv.Itoa(i+1) {
			problems = append(problems, fmt.Sprintf("row %s is where %d should be: numbers stay", n, i+1))
		}
		cited := 0
		for _, kind := range []struct {
			pattern *regexp.Regexp
			texts   map[string]string
		}{{citedTest, all.functions}, {citedScenario, all.scenarios}} {
			for _, match := range kind.pattern.FindAllStringSubmatch(text, -1) {
				cited++
				if source, ok := kind.texts[match[1]]; ok && !slices.Contains(numbers(source), n) {
					problems = append(problems, fmt.Sprintf("row %s names %s, which does not name pitfall %s", n, match[1], n))
				}
			}
		}
		if built := !strings.Contains(text, notBuilt); built && cited == 0 {
			problems = append(problems, fmt.Sprintf("row %s names no test, and does not say that it is %s", n, notBuilt))
		}
	}
	for _, texts := range []map[string]string{all.functions, all.scenarios} {
		for name, source := range texts {
			for _, n := range numbers(source) {
				if i, err := strconv.Atoi(n); err != nil || i < 1 || i > len(rows) {
					problems = append(problems, fmt.Sprintf("%s names pitfall %s, which is none", name, n))
				}
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// numbers returns the pitfalls that a test cites.
func numbers(source string) (all []string) {
	for _, match := range named.FindAllStringSubmatch(source, -1) {
		all = append(all, number.FindAllString(match[1], -1)...)
	}
	return all
}

func TestUnguardedPitfallsAreFound(t *testing.T) {
	list := strings.Join([]string{
		"| # | What | How | Shown by |",
		"|---|---|---|---|",
		"| 1 | guarded | | Go `TestOne`, scenario `one` |",
		"| 2 | by a test that does not name it | | Go `TestOne` |",
		"| 3 | by a test that names another | | scenario `one` |",
		"| 4 | by nothing | | |",
		"| 5 | " + notBuilt + " | | |",
		"| 7 | out of order | | " + notBuilt + " |",
	}, "\n")
	all := tests{
		map[string]string{"TestOne": "// Pitfall 1: it is.\nfunc TestOne(", "TestTen": "// Pitfalls 5, 6 and " + "77"},
		map[string]string{"one": "# Pitfalls 1 and " + "13"}, // in two parts, or this test itself would name them
	}
	// The row with number 7 is the sixth row, so the test must report a wrong number.
	want := []string{
		"TestTen names pitfall 77, which is none",
		"one names pitfall 13, which is none",
		"row 2 names TestOne, which does not name pitfall 2",
		"row 3 names one, which does not name pitfall 3",
		"row 4 names no test, and does not say that it is not built yet",
		"row 7 is where 6 should be: numbers stay",
	}
	if got := unguarded(list, all); !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
