package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Verb is a word that begins a call in a script.
type Verb struct {
	Name    string
	Args    string // as a manual writes them
	Summary string // one sentence
	Min     int    // fewest arguments
	Max     int    // most arguments; negative: no limit
	Pattern bool   // the first argument is a regular expression
	Always  bool   // cannot be negated by "!"
	// Takes is how long it may take, where that is longer than a line usually may.
	Takes time.Duration

	// Check finds mistakes before the script runs; an argument with a
	// variable in it is the string unknown. Nil checks nothing.
	Check func(s *Script, negate bool, args []string) error
	// Run does it. An error means that it is not true, or not done.
	Run func(ctx context.Context, r *Run, args []string) error
}

// verbs lists all verbs by name.
func verbs() map[string]Verb {
	all := map[string]Verb{}
	groups := [][]Verb{clusterVerbs(), trafficVerbs(), faultVerbs(), figureVerbs(), backupVerbs(), assertVerbs(), dnsVerbs(), queryVerbs(), followVerbs()}
	for _, verb := range slices.Concat(groups...) {
		all[verb.Name] = verb
	}
	return all
}

// VerbTable is the manual's table of all verbs, in Markdown.
func VerbTable() string {
	var b strings.Builder
	b.WriteString("| Verb | Does |\n|---|---|\n")
	all := verbs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		usage := strings.TrimSpace(name + " " + all[name].Args)
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(usage, "|", "\\|"), all[name].Summary)
	}
	return b.String()
}

// checkCluster refuses what is neither a member of the script's lab nor, where
// it may be, the broker.
func (s *Script) checkCluster(name string, broker bool) error {
	if name == unknown || slices.Contains(s.Shape.names(), name) || broker && name == Broker {
		return nil
	}
	return fmt.Errorf("there is no cluster %q in a lab of %d", name, s.Shape.Clusters)
}

// checkClusters does so for a comma-separated list, or "all".
func (s *Script) checkClusters(list string, broker bool) error {
	if list == "all" || list == unknown {
		return nil
	}
	for name := range strings.SplitSeq(list, ",") {
		if err := s.checkCluster(name, broker); err != nil {
			return err
		}
	}
	return nil
}

// clusters resolves such a list.
func (r *Run) clusters(list string) []string {
	if list == "all" {
		return r.lab.Shape().names()
	}
	return strings.Split(list, ",")
}
