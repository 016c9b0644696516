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

// docsFolder is where pages with tables of DNS answers are, seen from this package's tests.
const docsFolder = "../../docs"

// manyRecords is how many records an answer can have before only their number is written.
const manyRecords = 8

func dnsTableVerbs() []Verb {
	return []Verb{{
		Name: "dns-table", Args: "CLUSTER PAGE SUFFIX", Min: 3, Max: 3,
		Summary: "asks atoll-dns and the cluster's own DNS all questions in the table of the page in `docs`, and compares the answers with those in its columns; names in it that do not end with a dot are below SUFFIX, which answers leave out, and addresses that were saved are named",
		Check: func(s *Script, _ bool, args []string) error {
			if _, err := readDNSTable(args[1]); args[1] != unknown && err != nil {
				return err
			}
			return s.checkCluster(args[0], false)
		},
		Run: runDNSTable,
	}}
}

// dnsRow is a row of such a table: a question, NAME TYPE or NAME TYPE by TCP, and the answers
// of atoll-dns and of the cluster's own DNS. A name can have NAME-with-dashes or
// NAME-reversed. in it, for an address that was saved. Further columns are for people.
type dnsRow struct{ question, atoll, own string }

func (r dnsRow) String() string {
	return fmt.Sprintf("| `%s` | %s | %s |", r.question, r.atoll, r.own)
}

var rowPattern = regexp.MustCompile("^\\| `([^` ]+ [A-Z]+(?: by TCP)?)` \\| ([^|]*) \\| ([^|]*) \\|")

// readDNSTable finds the rows in a page.
func readDNSTable(page string) ([]dnsRow, error) {
	data, err := os.ReadFile(filepath.Join(docsFolder, page))
	if err != nil {
		return nil, err
	}
	var rows []dnsRow
	for line := range strings.Lines(string(data)) {
		if match := rowPattern.FindStringSubmatch(line); match != nil {
			rows = append(rows, dnsRow{match[1], match[2], match[3]})
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no rows of the form %s", page, dnsRow{"NAME TYPE", "ANSWER", "ANSWER"})
	}
	return rows, nil
}

func runDNSTable(ctx context.Context, r *Run, args []string) error {
	rows, err := readDNSTable(args[1])
	if err != nil {
		return usageErrorf("%v", err)
	}
	service := r.kubectl(ctx, args[0], "get", "service", "atoll-dns", "-n", "atoll-system", "-o", "jsonpath={.spec.clusterIP}")
	if service.Err != nil {
		return service.Err
	}
	short, long := r.shorten(args[2])
	var wrong []string
	for _, row := range rows {
		got := dnsRow{question: row.question}
		question := long(row.question)
		if got.atoll, err = r.answer(ctx, args[0], question, args[2], "@"+service.Stdout); err != nil {
			return err
		}
		if got.own, err = r.answer(ctx, args[0], question, args[2]); err != nil {
			return err
		}
		got.atoll, got.own = short(got.atoll), short(got.own)
		if got != row {
			wrong = append(wrong, got.String())
		}
	}
	r.output = strings.Join(wrong, "\n")
	if len(wrong) > 0 {
		return fmt.Errorf("%d rows of %s are not true: it should have those below", len(wrong), args[1])
	}
	return nil
}

// shorten leaves the suffix out, and gives addresses the names under which they were saved;
// long undoes that.
func (r *Run) shorten(suffix string) (short, long func(string) string) {
	pairs := []string{"." + suffix + ".", "", suffix + ".", "."}
	var back []string
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		if ip, err := netip.ParseAddr(r.env[name]); err == nil && !strings.HasSuffix(name, "_HOST") {
			dashed, reversed := strings.ToLower(name)+"-with-dashes", strings.ToLower(name)+"-reversed."
			dashes := strings.NewReplacer(".", "-", ":", "-").Replace(ip.String())
			pairs = append(pairs, ip.String(), name, dashes, dashed)
			back = append(back, dashed, dashes)
			if arpa, err := dns.ReverseAddr(ip.String()); err == nil {
				back = append(back, reversed, arpa)
			}
		}
	}
	return strings.NewReplacer(pairs...).Replace, strings.NewReplacer(back...).Replace
}

// answer asks one question and sums up the answer in a line.
func (r *Run) answer(ctx context.Context, cluster, question, suffix string, server ...string) (string, error) {
	fields := strings.Fields(question)
	name, kind := fields[0], fields[1]
	if !strings.HasSuffix(name, ".") {
		name += "." + suffix + "."
	}
	command := append([]string{"dig"}, server...)
	if len(fields) > 2 {
		command = append(command, "+tcp")
	}
	result := r.lab.Exec(ctx, cluster, append(command, "-q", name, "-t", kind, "+ignore", "+tries=2", "+time=2",
		"+noall", "+comments", "+answer", "+authority", "+additional")...)
	if result.Err != nil {
		return "", fmt.Errorf("asking for %s: %w: %s", question, result.Err, result.text())
	}
	return summary(result.Stdout)
}

var (
	sectionPattern = regexp.MustCompile(`^;; (\w+) SECTION:`)
	flagsPattern   = regexp.MustCompile(`;; flags: ([a-z ]+);`)
)

// summary is dig's output in a line, without what changes from one query to the next.
func summary(output string) (string, error) {
	status := statusPattern.FindStringSubmatch(output)
	flags := flagsPattern.FindStringSubmatch(output)
	if status == nil || flags == nil {
		return "", fmt.Errorf("no answer: %s", strings.TrimSpace(output))
	}
	sections := map[string][]string{}
	section := ""
	for line := range strings.Lines(output) {
		if match := sectionPattern.FindStringSubmatch(line); match != nil {
			section = match[1]
		}
		if fields := strings.Fields(line); len(fields) >= 5 && !strings.HasPrefix(line, ";") {
			if fields[3] == "SOA" && section == "ANSWER" {
				fields = fields[:6] // a serial follows
			}
			sections[section] = append(sections[section], strings.Join(fields[3:], " "))
		}
	}
	truncated := slices.Contains(strings.Fields(flags[1]), "tc")
	parts := records(sections["ANSWER"], truncated)
	if len(parts) == 0 || status[1] != "NOERROR" {
		parts = append([]string{map[bool]string{true: "no data", false: status[1]}[status[1] == "NOERROR"]}, parts...)
	}
	switch n := len(sections["ADDITIONAL"]); {
	case n > manyRecords:
		parts = append(parts, "+many addresses")
	case n > 1:
		parts = append(parts, fmt.Sprintf("+%d addresses", n))
	case n == 1:
		parts = append(parts, "+1 address")
	}
	for _, record := range sections["AUTHORITY"] {
		if fields := strings.Fields(record); fields[0] == "SOA" {
			parts = append(parts, "SOA with minimum "+fields[len(fields)-1])
		}
	}
	if truncated {
		parts = append(parts, "truncated")
	}
	return strings.Join(parts, ", "), nil
}

// records writes records in order, and only their number where they are many. Of a truncated
// answer that depends on their order, which changes.
func records(all []string, truncated bool) []string {
	switch {
	case len(all) > manyRecords && truncated:
		return []string{"as many " + strings.Fields(all[0])[0] + " as fit"}
	case len(all) > manyRecords:
		return []string{fmt.Sprintf("%d × %s", len(all), strings.Fields(all[0])[0])}
	}
	slices.Sort(all)
	return all
}
