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

// manyRecords is the number of records above which only the number is shown.
const manyRecords = 12

// notAsked marks a query that the cluster's own DNS would forward to servers outside the lab.
const notAsked = "–"

// atOnce limits the parallel queries. Each query is a process.
const atOnce = 8

// usualTTL, in seconds, is omitted from summaries. A cache may count it down.
const usualTTL = 5

func dnsVerbs() []Verb {
	return []Verb{{
		Name: "dig", Args: "CLUSTER NAME TYPE", Min: 3, Max: 3,
		Summary: "queries the cluster's DNS from a node; prints `status NOERROR` and sorted lines `NAME TYPE DATA`; fails only without a response",
		Check:   func(s *Script, _ bool, args []string) error { return s.checkCluster(args[0], false) },
		Run:     runDig,
	}, {
		Name: "dns-table", Args: "CLUSTER ADDRESS PAGE SUFFIX", Min: 4, Max: 4,
		Summary: "sends the queries in a page's table to atoll-dns and the cluster's DNS, and compares the answers with the table's two columns. The second column may be `the same`, or `–` for no query. Names without a final dot are relative to SUFFIX; answers omit SUFFIX. In answers, the name of a variable of `save` replaces its address",
		Check: func(s *Script, _ bool, args []string) error {
			if _, err := readDNSTable(args[2]); args[2] != unknown && err != nil {
				return err
			}
			return s.checkCluster(args[0], false)
		},
		Run: runDNSTable,
	}}
}

func runDig(ctx context.Context, r *Run, args []string) error {
	r.output = ""
	answer, err := r.dig(ctx, args[0], "-q", args[1], "-t", args[2], "+tries=1", "+time=5", "+noall", "+comments", "+answer")
	if err != nil {
		return err
	}
	var records []string
	for _, fields := range answer.sections["ANSWER"] {
		records = append(records, strings.Join(append(fields[:1:1], fields[3:]...), " ")+"\n")
	}
	slices.Sort(records)
	r.output = "status " + answer.status + "\n" + strings.Join(records, "")
	return nil
}

// dnsAnswer is dig's output: the status, the flags, and the records of each section as fields
// (name, TTL, class, type, data).
type dnsAnswer struct {
	status   string
	flags    []string
	sections map[string][][]string
}

// dig queries from the network of the first node.
func (r *Run) dig(ctx context.Context, cluster string, args ...string) (dnsAnswer, error) {
	result := r.do(ctx, cluster, Command{Program: "dig", Args: args})
	if result.Err != nil {
		return dnsAnswer{}, fmt.Errorf("%w: %s", result.Err, result.text())
	}
	return parseDig(result.Stdout)
}

var (
	statusPattern  = regexp.MustCompile(`status: ([A-Z]+)`)
	sectionPattern = regexp.MustCompile(`^;; (\w+) SECTION:`)
	flagsPattern   = regexp.MustCompile(`;; flags: ([a-z ]+);`)
)

// parseDig parses dig's output.
func parseDig(output string) (dnsAnswer, error) {
	status, flags := statusPattern.FindStringSubmatch(output), flagsPattern.FindStringSubmatch(output)
	if status == nil || flags == nil {
		return dnsAnswer{}, fmt.Errorf("no answer: %s", strings.TrimSpace(output))
	}
	answer := dnsAnswer{status: status[1], flags: strings.Fields(flags[1]), sections: map[string][][]string{}}
	section := ""
	for text := range strings.Lines(output) {
		if match := sectionPattern.FindStringSubmatch(text); match != nil {
			section = match[1]
		}
		if fields := strings.Fields(text); len(fields) >= 5 && !strings.HasPrefix(text, ";") {
			answer.sections[section] = append(answer.sections[section], fields)
		}
	}
	return answer, nil
}

// dnsRow is a row of such a table: a query (NAME TYPE, or NAME TYPE by TCP) and the responses
// of atoll-dns and of the cluster's own DNS. For a saved address, a name can contain
// NAME-with-dashes or NAME-reversed. More columns may follow for readers.
type dnsRow struct{ question, atoll, own string }

func (r dnsRow) String() string {
	return fmt.Sprintf("| `%s` | %s | %s |", r.question, r.atoll, r.own)
}

var rowPattern = regexp.MustCompile("^\\| `([^` ]+ [A-Z]+(?: by TCP)?)` \\| ([^|]*) \\| ([^|]*) \\|")

// readDNSTable parses the rows of a page.
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
	ask := func(question string, server ...string) (string, error) {
		answer, err := r.answer(ctx, args[0], long(question), args[3], server...)
		return short(answer), err
	}
	answers := make([]dnsRow, len(rows))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, row := range rows {
		group.Go(func() (err error) {
			got := &answers[i]
			got.question, got.own = row.question, row.own
			if got.atoll, err = ask(row.question, "@"+args[1]); err == nil && row.own != notAsked {
				got.own, err = ask(row.question)
			}
			return err
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
		return fmt.Errorf("%d rows of %s are wrong; the correct rows follow", len(wrong), args[2])
	}
	return nil
}

// shorten removes the suffix and replaces saved addresses with their variable names; long
// reverses this.
func (r *Run) shorten(suffix string) (short, long func(string) string) {
	pairs := []string{"." + suffix + ".", "", suffix + ".", "."}
	var back []string
	names := slices.Sorted(maps.Keys(r.env))
	slices.SortStableFunc(names, func(a, b string) int { return len(r.env[b]) - len(r.env[a]) }) // an address may be the prefix of another
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

// answer sends one query and summarizes the response in a line.
func (r *Run) answer(ctx context.Context, cluster, question, suffix string, server ...string) (string, error) {
	fields := strings.Fields(question)
	name, kind := fields[0], fields[1]
	if !strings.HasSuffix(name, ".") {
		name += "." + suffix + "."
	}
	args := append(server, "-q", name, "-t", kind, "+ignore", "+tries=2", "+time=2", "+noall", "+comments", "+answer", "+authority", "+additional")
	if len(fields) > 2 {
		args = append(args, "+tcp")
	}
	answer, err := r.dig(ctx, cluster, args...)
	if err != nil {
		return "", fmt.Errorf("querying %s: %w", question, err)
	}
	return answer.summary(), nil
}

// summary formats a response as a line, without values that change between queries.
func (a dnsAnswer) summary() string {
	truncated := slices.Contains(a.flags, "tc")
	var answers []string
	longest := 0
	for _, fields := range a.sections["ANSWER"] {
		if ttl, err := strconv.Atoi(fields[1]); err == nil {
			longest = max(longest, ttl)
		}
		if fields[3] == "SOA" {
			fields = fields[:6] // a serial follows
		}
		answers = append(answers, strings.Join(fields[3:], " "))
	}
	parts := records(answers, truncated)
	if a.status != "NOERROR" {
		parts = slices.Insert(parts, 0, a.status)
	} else if len(parts) == 0 {
		parts = append(parts, "no data")
	}
	if longest > usualTTL {
		parts = append(parts, fmt.Sprintf("TTL %d", longest))
	}
	if !slices.Contains(a.flags, "aa") {
		parts = append(parts, "not authoritative")
	}
	switch n := len(a.sections["ADDITIONAL"]); {
	case n > 1:
		parts = append(parts, fmt.Sprintf("+%d addresses", n))
	case n == 1:
		parts = append(parts, "+1 address")
	}
	for _, fields := range a.sections["AUTHORITY"] {
		if fields[3] == "SOA" {
			parts = append(parts, "SOA with minimum "+fields[len(fields)-1])
		}
	}
	if truncated {
		parts = append(parts, "truncated")
	}
	return strings.Join(parts, ", ")
}

// records formats records in order. It formats only the number of many records: the records of
// a truncated response depend on their order, which changes.
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
