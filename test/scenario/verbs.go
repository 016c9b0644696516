package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

type Verb struct {
	Name    string
	Args    string // as in the manual
	Summary string // one sentence
	Min     int    // fewest arguments
	Max     int    // most arguments; negative: no limit
	Pattern bool   // the first argument is a regular expression
	Always  bool   // cannot be negated by "!"
	// Takes is the time limit of a slow verb, if longer than that of a line.
	Takes time.Duration

	// Check validates the arguments before the script runs. An argument with a variable is the
	// string unknown. Nil checks nothing.
	Check func(s *Script, negate bool, args []string) error
	// Run executes the verb. An error means that the check or the action failed.
	Run func(ctx context.Context, r *Run, args []string) error
}

// verbs lists all verbs by name.
func verbs() map[string]Verb {
	all := map[string]Verb{}
	groups := [][]Verb{clusterVerbs(), trafficVerbs(), faultVerbs(), figureVerbs(), backupVerbs(), assertVerbs(), dnsVerbs(), queryVerbs(), followVerbs(), pagesVerbs()}
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

// checkCluster accepts members of the script's lab and, if broker is set, the broker.
func (s *Script) checkCluster(name string, broker bool) error {
	if name == unknown || slices.Contains(s.Shape.names(), name) || broker && name == Broker {
		return nil
	}
	return fmt.Errorf("there is no cluster %q in a lab of %d", name, s.Shape.Clusters)
}

// checkClusters accepts a comma-separated list, or "all".
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

// clusters returns the clusters of a comma-separated list, or all for "all".
func (r *Run) clusters(list string) []string {
	if list == "all" {
		return r.lab.Shape().names()
	}
	return strings.Split(list, ",")
}
