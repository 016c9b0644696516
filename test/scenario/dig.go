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
	status, sections, err := parseDig(result.Stdout)
	if err != nil {
		r.output = ""
		return err
	}
	var records []string
	for _, fields := range sections["ANSWER"] {
		records = append(records, strings.Join(append(fields[:1:1], fields[3:]...), " ")+"\n")
	}
	slices.Sort(records)
	r.output = "status " + status + "\n" + strings.Join(records, "")
	return nil
}

var (
	statusPattern  = regexp.MustCompile(`status: ([A-Z]+)`)
	sectionPattern = regexp.MustCompile(`^;; (\w+) SECTION:`)
	flagsPattern   = regexp.MustCompile(`;; flags: ([a-z ]+);`)
)

// parseDig returns the status in dig's output, and the records of each section as fields: name, TTL, class, type and data.
func parseDig(output string) (status string, sections map[string][][]string, err error) {
	found := statusPattern.FindStringSubmatch(output)
	if found == nil || !flagsPattern.MatchString(output) {
		return "", nil, fmt.Errorf("no answer: %s", strings.TrimSpace(output))
	}
	sections = map[string][][]string{}
	section := ""
	for text := range strings.Lines(output) {
		if match := sectionPattern.FindStringSubmatch(text); match != nil {
			section = match[1]
		}
		if fields := strings.Fields(text); len(fields) >= 5 && !strings.HasPrefix(text, ";") {
			sections[section] = append(sections[section], fields)
		}
	}
	return found[1], sections, nil
}
