package scenario

import (
	"regexp"
	"testing"
)

func TestThousandHasAThousandEndpoints(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^- addresses: \[10\.9\.[0-3]\.\d+\]$`).FindAllString(string(thousand().Data), -1) {
		seen[line] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different endpoints", len(seen))
	}
}
