package scenario

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// updateVariable is set, to anything, to have transcripts written in place of compared.
const updateVariable = "ATOLL_UPDATE"

func transcriptVerbs() []Verb {
	return []Verb{{
		Name: "transcript", Args: "CLUSTER FILE [NAME…]", Min: 2, Max: -1,
		Summary: "runs each `$ dig …` that a file in testdata has, from the cluster's first node, and compares whole answers with those written below it; there `$NAME` stands for the value of that variable, an IP address, and `$NAME_REVERSE` for its reverse name. Run with `" + updateVariable + "=1`, it writes the answers into the file",
		Check: func(s *Script, _ bool, args []string) error {
			if _, err := os.Stat(s.besides(args[1])); err != nil {
				return err
			}
			return s.checkCluster(args[0], false)
		},
		Run: runTranscript,
	}}
}

// besides returns the path of a file in the script's folder.
func (s *Script) besides(file string) string { return filepath.Join(filepath.Dir(s.File), file) }

func runTranscript(ctx context.Context, r *Run, args []string) error {
	file := r.script.besides(args[1])
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	values := map[string]string{}
	for _, name := range args[2:] {
		value, ok := r.env[name]
		if !ok {
			return usageErrorf("$%s is not set", name)
		}
		values[name] = value
		if values[name+"_REVERSE"], err = dns.ReverseAddr(value); err != nil {
			return usageErrorf("$%s: %v", name, err)
		}
	}
	got, err := r.replay(ctx, args[0], string(data), values)
	r.output = got
	if err != nil {
		return err
	}
	if os.Getenv(updateVariable) != "" {
		return os.WriteFile(file, []byte(got), 0o644)
	}
	return compareLines(string(data), got)
}

// replay runs what the transcript says and returns it with what came of it.
func (r *Run) replay(ctx context.Context, cluster, transcript string, values map[string]string) (string, error) {
	var b strings.Builder
	answer := false // the lines are of an answer
	for text := range strings.Lines(transcript) {
		command, ok := strings.CutPrefix(text, "$ dig ")
		switch {
		case ok:
			b.WriteString(text)
			out, err := r.digWhole(ctx, cluster, strings.Fields(command), values)
			if err != nil {
				return b.String(), fmt.Errorf("dig %s: %w", strings.TrimSpace(command), err)
			}
			b.WriteString(out)
			answer = true
		case !answer || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#"):
			b.WriteString(text)
			answer = false
		}
	}
	return b.String(), nil
}

// digWhole asks, and returns all of the answer in its written form.
func (r *Run) digWhole(ctx context.Context, cluster string, args []string, values map[string]string) (string, error) {
	for i := range args {
		args[i] = os.Expand(args[i], func(name string) string { return values[name] })
	}
	args = append([]string{"dig", "+tries=1", "+time=5", "+nocookie", "+noall", "+comments", "+answer", "+authority", "+additional"}, args...)
	result := r.lab.Exec(ctx, cluster, args...)
	if result.Err != nil {
		return "", fmt.Errorf("%w: %s", result.Err, strings.TrimSpace(result.text()))
	}
	return writeAnswer(result.Stdout, values)
}

var (
	serialPattern = regexp.MustCompile(`( IN SOA \S+ \S+) \d+ `)
	// serverPattern finds the addresses that a server says are its own: those of any of its pods.
	serverPattern = regexp.MustCompile(`^(ns\.dns\.\S* \d+ IN A{1,4}) [0-9a-f.:]+$`)
)

// writeAnswer turns dig's output into lines that are the same each time: the status and
// the flags, and the sections with their records, sorted.
func writeAnswer(output string, values map[string]string) (string, error) {
	status, flags := statusPattern.FindStringSubmatch(output), flagsPattern.FindStringSubmatch(output)
	if status == nil || flags == nil {
		return "", fmt.Errorf("no answer: %s", strings.TrimSpace(output))
	}
	var b strings.Builder
	fmt.Fprintf(&b, ";; %s, flags: %s\n", status[1], flags[1])
	var records []string
	flush := func() {
		slices.Sort(records)
		b.WriteString(strings.Join(records, ""))
		records = nil
	}
	for text := range strings.Lines(output) {
		fields := strings.Fields(text)
		switch {
		case sectionPattern.MatchString(text):
			flush()
			b.WriteString(text)
		case len(fields) > 3 && !strings.HasPrefix(text, ";"):
			line := serialPattern.ReplaceAllString(strings.Join(fields, " "), "$1 SERIAL ")
			line = serverPattern.ReplaceAllString(line, "$1 OWN")
			records = append(records, withNames(line, values)+"\n")
		}
	}
	flush()
	return b.String(), nil
}

// withNames puts variables where their values stand. Addresses, which dig may write in
// another way than they came in, are compared as such.
func withNames(line string, values map[string]string) string {
	fields := strings.Fields(line)
	for i, field := range fields {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if field == values[name] || sameAddress(field, values[name]) {
				fields[i] = "$" + name
			}
		}
	}
	return strings.Join(fields, " ")
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x == y
}

// compareLines says where two texts begin to differ.
func compareLines(want, got string) error {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Errorf("line %d is %q, but was answered %q; with %s=1 the file is written anew", i+1, x, y, updateVariable)
		}
	}
	return nil
}
