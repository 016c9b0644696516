package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longestWalk limits the number of files that a reader must open to follow an event.
const longestWalk = 12

var step = regexp.MustCompile("^[0-9]+\\. `([^`]+)` `([^`]+)`")

// wrongWalks returns the problems of a page of walks: steps whose file lacks the function, and
// walks that are too long.
func wrongWalks(page string) (wrong []string, walks int) {
	steps := 0
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "## ") {
			steps = 0
			walks++
		}
		m := step.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if steps++; steps > longestWalk {
			wrong = append(wrong, fmt.Sprintf("more than %d steps: %s", longestWalk, line))
		}
		source, err := os.ReadFile(filepath.Join(root, m[1]))
		if err != nil || !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+regexp.QuoteMeta(m[2])+`[\[(]`).Match(source) {
			wrong = append(wrong, fmt.Sprintf("%s has no function %s", m[1], m[2]))
		}
	}
	return wrong, walks
}

func TestWalks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/contributing/walks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if wrong, walks := wrongWalks(string(page)); walks != 5 || len(wrong) > 0 {
		t.Errorf("%d walks, want 5; wrong are %q", walks, wrong)
	}
	if wrong, _ := wrongWalks("1. `docs/docs.go` `none`: it can fail"); len(wrong) != 1 {
		t.Errorf("a wrong step is not found: %q", wrong)
	}
}
