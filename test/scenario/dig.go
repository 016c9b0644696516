package scenario

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// runDig asks the cluster's own DNS from the first node's network.
func runDig(ctx context.Context, r *Run, args []string) error {
	r.output = ""
	result := r.lab.Exec(ctx, args[0], "dig", "-q", args[1], "-t", args[2],
		"+tries=1", "+time=5", "+noall", "+comments", "+answer")
	r.output = result.text()
	if result.Err != nil {
		return result.Err
	}
	answer, err := readDig(result.Stdout)
	r.output = answer
	return err
}

var statusPattern = regexp.MustCompile(`status: ([A-Z]+)`)

// readDig turns dig's answer into sorted lines without what changes from one
// query to the next.
func readDig(output string) (string, error) {
	status := statusPattern.FindStringSubmatch(output)
	if status == nil {
		return "", fmt.Errorf("no answer: %s", strings.TrimSpace(output))
	}
	var records []string
	for text := range strings.Lines(output) {
		fields := strings.Fields(text)
		if len(fields) < 5 || strings.HasPrefix(text, ";") {
			continue
		}
		records = append(records, strings.Join(append(fields[:1:1], fields[3:]...), " ")+"\n")
	}
	slices.Sort(records)
	return "status " + status[1] + "\n" + strings.Join(records, ""), nil
}
