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
	"strconv"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"

	"github.com/atoll-mcs/atoll/test/charts"
)

// manyRecords is how many records an answer can have before only their number is written.
const manyRecords = 12

// notAsked stands in the column of the cluster's own DNS where that would ask servers outside of the lab.
const notAsked = "–"

// atOnce is how many questions are asked at the same time: each is a process that waits for its answer.
const atOnce = 8

// usualTTL, in seconds, is not written. A cache counts it down.
const usualTTL = 5

func dnsTableVerbs() []Verb {
	return []Verb{{
		Name: "dns-table", Args: "CLUSTER ADDRESS PAGE SUFFIX", Min: 4, Max: 4,
		Summary: "asks atoll-dns, at its address, and the cluster's own DNS all questions in the table of a page of the repository, and compares the answers with those in its columns, the second of which may be `the same`, or `–` for not asked; names in it that do not end with a dot are below SUFFIX, which answers leave out, and addresses that were saved are named",
		Check: func(s *Script, _ bool, args []string) error {
			if _, err := readDNSTable(args[2]); args[2] != unknown && err != nil {
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
	data, err := os.ReadFile(filepath.Join(charts.Root(), page))
	if err != nil {
		return nil, err
	}
	var rows []dnsRow
	for line := range strings.Lines(string(data)) {
		if match := rowPattern.FindStringSubmatch(line); match != nil {
			row := dnsRow{match[1], match[2], match[3]}
			if row.own == "the same" {
				row.own = row.atoll
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no rows of the form %s", page, dnsRow{"NAME TYPE", "ANSWER", "ANSWER"})
	}
	return rows, nil
}

func runDNSTable(ctx context.Context, r *Run, args []string) error {
	rows, err := readDNSTable(args[2])
	if err != nil {
		return usageErrorf("%v", err)
	}
	short, long := r.shorten(args[3])
	answers := make([]dnsRow, len(rows))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, row := range rows {
		group.Go(func() (err error) {
			got, question := &answers[i], long(row.question)
			if got.atoll, err = r.answer(ctx, args[0], question, args[3], "@"+args[1]); err != nil {
				return err
			}
			if got.question, got.atoll, got.own = row.question, short(got.atoll), row.own; row.own != notAsked {
				if got.own, err = r.answer(ctx, args[0], question, args[3]); err != nil {
					return err
				}
				got.own = short(got.own)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var wrong []string
	for i, row := range rows {
		if answers[i] != row {
			wrong = append(wrong, answers[i].String())
		}
	}
	r.output = strings.Join(wrong, "\n")
	if len(wrong) > 0 {
		return fmt.Errorf("%d rows of %s are not true: it should have those below", len(wrong), args[2])
	}
	return nil
}

// shorten leaves the suffix out, and gives addresses the names under which they were saved;
// long undoes that.
func (r *Run) shorten(suffix string) (short, long func(string) string) {
	pairs := []string{"." + suffix + ".", "", suffix + ".", "."}
	var back []string
	names := slices.Sorted(maps.Keys(r.env))
	slices.SortStableFunc(names, func(a, b string) int { return len(r.env[b]) - len(r.env[a]) }) // an address may begin with another one
	for _, name := range names {
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

// summary is dig's output in a line, without what changes from one query to the next.
func summary(output string) (string, error) {
	status, sections, err := parseDig(output)
	if err != nil {
		return "", err
	}
	flags := strings.Fields(flagsPattern.FindStringSubmatch(output)[1])
	truncated := slices.Contains(flags, "tc")
	var answers []string
	longest := 0
	for _, fields := range sections["ANSWER"] {
		if ttl, err := strconv.Atoi(fields[1]); err == nil {
			longest = max(longest, ttl)
		}
		if fields[3] == "SOA" {
			fields = fields[:6] // a serial follows
		}
		answers = append(answers, strings.Join(fields[3:], " "))
	}
	parts := records(answers, truncated)
	if len(parts) == 0 || status != "NOERROR" {
		parts = append([]string{map[bool]string{true: "no data", false: status}[status == "NOERROR"]}, parts...)
	}
	if longest > usualTTL {
		parts = append(parts, fmt.Sprintf("TTL %d", longest))
	}
	if !slices.Contains(flags, "aa") {
		parts = append(parts, "not authoritative")
	}
	switch n := len(sections["ADDITIONAL"]); {
	case n > manyRecords:
		parts = append(parts, "+many addresses")
	case n > 1:
		parts = append(parts, fmt.Sprintf("+%d addresses", n))
	case n == 1:
		parts = append(parts, "+1 address")
	}
	for _, fields := range sections["AUTHORITY"] {
		if fields[3] == "SOA" {
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
