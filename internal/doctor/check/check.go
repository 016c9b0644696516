// Package check decides the results of `atoll check` from the facts that package checkup collected.
//
// Its results, written as JSON, are what programs read: fields are added to them, and none changes
// its meaning.
package check

import (
	"fmt"
	"slices"
	"strings"
)

// Status is what came of a check.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Error   Status = "error"
	// Skipped is what could not be found out, or does not matter here.
	Skipped Status = "skipped"
)

// Result is one check's.
type Result struct {
	ID ID `json:"id"`
	// Cluster is whose it is; between clusters, From and To are two of them.
	Cluster string `json:"cluster,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Subject string `json:"subject"`
	Title   string `json:"title"`
	Status  Status `json:"status"`
	// Message says what was found.
	Message string `json:"message,omitempty"`
	// Hint says what to do about it.
	Hint string `json:"hint,omitempty"`
	// Documentation is where more about it stands.
	Documentation string `json:"documentation,omitempty"`
}

// Results are those of all checks that were made.
type Results []Result

// Count tells how many have come to a status.
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
	order := func(r Result) int {
		return slices.IndexFunc(Catalogue, func(e Entry) bool { return e.ID == r.ID })
	}
	slices.SortStableFunc(all, func(a, b Result) int {
		if c := e.rank(a.Cluster) - e.rank(b.Cluster); c != 0 {
			return c
		}
		return order(a) - order(b)
	})
	return all
}

// checker makes the checks of one cluster.
type checker struct {
	evidence *Evidence
	cluster  *Cluster
	results  *Results
}

func (ch *checker) say(id ID, status Status, hint, format string, args ...any) {
	ch.results.add(Result{ID: id, Cluster: ch.cluster.Name, Status: status, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// ok says that all is well, and what was seen.
func (ch *checker) ok(id ID, format string, args ...any) { ch.say(id, OK, "", format, args...) }

// skip says why something could not be found out.
func (ch *checker) skip(id ID, format string, args ...any) { ch.say(id, Skipped, "", format, args...) }

func (r *Results) add(result Result) {
	about := entry(result.ID)
	result.Subject, result.Title = about.Subject, about.Title
	if result.Status != OK {
		result.Documentation = result.ID.Anchor()
	}
	*r = append(*r, result)
}

// all makes the checks of one cluster; without its API server there is nothing more to say.
func (ch *checker) all() {
	c := ch.cluster
	if c.Unreached != nil {
		ch.say(APIServer, Error, "Check the kubeconfig and the network between here and there: "+c.On.Kubectl("version"), "%v", c.Unreached)
		return
	}
	ch.ok(APIServer, "Kubernetes %s, %.1f ms", c.Version, float64(c.RoundTrip.Microseconds())/1000)
	ch.api()
	ch.rights()
	ch.installation()
	ch.broker()
	ch.network()
	ch.dns()
}

func list(texts []string) string { return strings.Join(texts, ", ") }
