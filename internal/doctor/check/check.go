// Package check decides the results of `atoll check` from the facts that package checkup collected.
//
// Programs read the JSON of its results: fields may be added, but must not change their meaning.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Status is the result of a check.
type Status string

// Values of Status.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Error   Status = "error"
	// Skipped means that the check was not possible or does not apply.
	Skipped Status = "skipped"
)

// Result is the result of one check.
type Result struct {
	ID ID `json:"id"`
	// Cluster is the checked cluster. Checks between clusters have From and To instead.
	Cluster string `json:"cluster,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Subject string `json:"subject"`
	Title   string `json:"title"`
	Status  Status `json:"status"`
	// Message describes the result.
	Message string `json:"message,omitempty"`
	// Hint is the fix.
	Hint string `json:"hint,omitempty"`
	// Documentation is a link to the check's documentation.
	Documentation string `json:"documentation,omitempty"`
}

// Results are the results of all checks.
type Results []Result

// Count returns the number of results with a status.
func (r Results) Count(of Status) int {
	n := 0
	for _, result := range r {
		if result.Status == of {
			n++
		}
	}
	return n
}

// Evaluate makes all checks.
func Evaluate(e Evidence) Results {
	var all Results
	for i := range e.Clusters {
		ch := checker{evidence: &e, cluster: &e.Clusters[i], results: &all}
		ch.all()
	}
	between(&e, &all)
	slices.SortStableFunc(all, func(a, b Result) int {
		return cmp.Or(e.rank(a.Cluster)-e.rank(b.Cluster), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// checker makes the checks of one cluster.
type checker struct {
	evidence *Evidence
	cluster  *Cluster
	results  *Results
}

func (ch *checker) say(about Check, status Status, hint, format string, args ...any) {
	ch.results.add(about, Result{Cluster: ch.cluster.Name, Status: status, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// ok adds a success.
func (ch *checker) ok(about Check, format string, args ...any) {
	ch.say(about, OK, "", format, args...)
}

// skip adds a skipped check with the reason.
func (ch *checker) skip(about Check, format string, args ...any) {
	ch.say(about, Skipped, "", format, args...)
}

func (r *Results) add(about Check, result Result) {
	result.ID, result.Subject, result.Title = about.ID, subjects[about.ID[:len("ATOLL10")]], about.Title
	if result.Status != OK {
		result.Documentation = result.ID.Anchor()
	}
	*r = append(*r, result)
}

// all makes the checks of one cluster. Without its API server, no other check is possible.
func (ch *checker) all() {
	c := ch.cluster
	if c.Unreached != nil {
		ch.say(APIServer, Error, "Check the kubeconfig, and the network between this machine and the API server: "+c.On.Kubectl("version"), "%v", c.Unreached)
		return
	}
	ch.ok(APIServer, "Kubernetes %s, response time %.1f ms", c.Version, float64(c.RoundTrip.Microseconds())/1000)
	ch.clustersets()
	if ch.evidence.OnlyBroker(c) {
		ch.skip(Membership, "the cluster is a broker, and not a member")
		return
	}
	ch.api()
	ch.rights()
	ch.installation()
	ch.broker()
	ch.network()
	ch.dns()
}

func list(texts []string) string { return strings.Join(texts, ", ") }
