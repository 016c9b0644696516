package integration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/objects"
)

// The expected counts are the minimum of the design (docs/explanation/scale.md): KEP-0752's
// estimates, with clusters instead of nodes. One more write is a regression.

// calm is how long no program may write before a count is final: longer than agents delay any
// change.
const calm = 6 * time.Second

// counter counts the writes that agents make for a namespace's services.
type counter struct {
	t         *testing.T
	namespace string
	logs      map[string]*audit.Log
}

func newCounter(t *testing.T, namespace string) *counter {
	t.Helper()
	c := &counter{t: t, namespace: namespace, logs: map[string]*audit.Log{}}
	for cluster := range on {
		log, err := audit.Open(theLab.AuditLog(cluster))
		noError(t, err)
		c.logs[cluster] = log
	}
	return c
}

// ours reports whether an agent made a write for the namespace. The broker's objects are all in
// one namespace, so their names decide. Events are not counted.
func (c *counter) ours(w audit.Write) bool {
	return strings.HasPrefix(w.User, "system:serviceaccount:atoll-") && w.Resource != "events" &&
		(w.Namespace == c.namespace || strings.Contains("."+w.Name+".", "."+c.namespace+"."))
}

// written waits until agents stop writing, and returns their writes since the last call by
// cluster, as lines like "create endpointslices". It ignores writes that failed because of a
// stale cache. Each EndpointSlice may have two such writes if several changes happen at once,
// and as many updates as its token bucket had tokens.
func (c *counter) written(tokens int) map[string][]string {
	c.t.Helper()
	lines, refused, said := map[string][]string{}, map[string]int{}, map[string]*firstStatus{}
	for again := true; again; {
		again = false
		for cluster, writes := range c.quiet() {
			again = again || len(writes) > 0 // other logs may have grown while this log was quiet
			if said[cluster] == nil {
				said[cluster] = &firstStatus{}
			}
			for _, w := range writes {
				if said[cluster].isExtra(w) {
					continue
				}
				line := w.Verb + " " + w.Resource
				if w.Subresource != "" {
					line += "/" + w.Subresource
				}
				if w.Succeeded() {
					lines[cluster] = append(lines[cluster], line)
				} else if w.Resource == "endpointslices" && w.Verb != "delete" { // a deletion may fail because the slice is already deleted
					refused[cluster+" "+line+" "+w.Name]++
				}
			}
		}
	}
	for write, n := range refused {
		if n > 2 && (n > tokens || !strings.Contains(write, " update ")) {
			c.t.Errorf("refused %d times: %s", n, write)
		}
	}
	return lines
}

// firstStatus finds the write that a slow machine adds: an import that lacks objects for a second
// has a status that says so, and another one later.
type firstStatus struct{ created, written time.Time }

func (f *firstStatus) isExtra(w audit.Write) bool {
	switch {
	case !w.Succeeded() || w.Resource != "serviceimports":
	case w.Verb == "create":
		f.created, f.written = w.At, time.Time{}
	case w.Subresource == "status" && f.written.IsZero():
		f.written = w.At
	case w.Subresource == "status" && !f.created.IsZero() && f.written.Sub(f.created) > 900*time.Millisecond:
		f.created = time.Time{} // once
		return true
	}
	return false
}

// quiet waits until all logs have been quiet for a while at the same time.
func (c *counter) quiet() map[string][]audit.Write {
	c.t.Helper()
	var mu sync.Mutex
	found := map[string][]audit.Write{}
	group, ctx := errgroup.WithContext(c.t.Context())
	for cluster, log := range c.logs {
		group.Go(func() error {
			writes, err := log.Quiet(ctx, calm, c.ours)
			mu.Lock()
			defer mu.Unlock()
			found[cluster] = writes
			return err
		})
	}
	if err := group.Wait(); err != nil {
		c.t.Fatal(err)
	}
	return found
}

// expect fails the test unless agents have made exactly these writes, by cluster, as lines like
// "3 create endpointslices".
func (c *counter) expect(what string, want map[string][]string) {
	c.t.Helper()
	have := c.written(burst)
	for cluster := range c.logs {
		slices.Sort(want[cluster])
		got := counts(have[cluster])
		slices.Sort(got)
		if !slices.Equal(got, want[cluster]) {
			c.t.Errorf("%s, writes in %s:\n got %q\nwant %q", what, cluster, got, want[cluster])
		}
	}
}

// counts formats the number of occurrences of each line, sorted by line.
func counts(lines []string) []string {
	var counted []string
	slices.Sort(lines)
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[0] {
			n++
		}
		counted = append(counted, fmt.Sprintf("%d %s", n, lines[0]))
		lines = lines[n:]
	}
	return counted
}

// interval is the default of --slice-write-interval. burst is the number of changes in a row
// that do not wait for it.
const interval, burst = 50 * time.Millisecond, 5

// replaced simulates a rolling update: it replaces one endpoint in each slice, and then n
// endpoints of the first slice as fast as possible. There must be at most one update per
// change, no more updates of a slice on the broker than its token bucket has tokens, and no
// more updates in c2 than on the broker. This holds however slow the machine is.
func (c *counter) replaced(sources []*discoveryv1.EndpointSlice, n int) {
	c.t.Helper()
	replace := func(source *discoveryv1.EndpointSlice, endpoint, number int) {
		c.t.Helper()
		change(c.t, "c1", source, func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[endpoint].Addresses[0] = fmt.Sprintf("11.1.98.%d", number)
		})
	}
	for i, source := range sources[1:] {
		replace(source, 8, 100+i)
	}
	began := time.Now()
	for i := range n {
		replace(sources[0], i, i)
	}
	eventually(c.t, "c2 has the last change", func() error {
		for _, s := range slicesOf(c.t, "c2", c.namespace) {
			if slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == fmt.Sprintf("11.1.98.%d", n-1) }) {
				return nil
			}
		}
		return errors.New("the last change has not arrived")
	})
	most := burst + int(time.Since(began)/interval)
	have := c.written(most)
	others := len(sources) - 1
	for cluster, most := range map[string]int{
		lab.Broker: min(n, most), "c2": min(n, most),
		"c1": min(n, most+2), // the own import may lag: one write that has begun, and one with the remaining changes
	} {
		updates := slices.DeleteFunc(slices.Clone(have[cluster]), func(line string) bool { return line != "update endpointslices" })
		if len(updates) < len(have[cluster]) || len(updates) < others+1 || len(updates) > others+most {
			c.t.Errorf("rolling update, writes in %s:\n got %q\nwant %d to %d update endpointslices", cluster, counts(have[cluster]), others+1, others+most)
		}
	}
	if onBroker, imported := len(have[lab.Broker]), len(have["c2"]); imported > onBroker {
		c.t.Errorf("rolling update: %d writes in c2 for %d on the broker", imported, onBroker)
	}
}

// KEP-0752, "Estimation": writes for creation, a change of an endpoint, a rolling update and
// deletion, in all clusters and on the broker. Changes that other clusters do not need are not
// written.
//
// Pitfall 12: an exported slice becomes exactly one imported slice.
func TestWritesAreCounted(t *testing.T) {
	const ns, n, perSlice = "writes", 12, 100
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "web", 80))
	var sources []*discoveryv1.EndpointSlice
	for i := range n {
		var addresses []string
		for j := range perSlice {
			addresses = append(addresses, fmt.Sprintf("11.1.%d.%d", i, j))
		}
		source := slice(ns, fmt.Sprintf("web-%d", i), "web", addresses...)
		create(t, "c1", source)
		sources = append(sources, source)
	}
	counted := newCounter(t, ns)
	counted.expect("before the export", nil)

	e := export(ns, "web")
	create(t, "c1", e)
	expectImport(t, "c2", ns, "web", from("c1"))
	imported := []string{
		"12 create endpointslices", "1 create serviceimports", "1 create services",
		"1 patch serviceimports", "1 patch serviceimports/status",
	}
	counted.expect("creation", map[string][]string{
		lab.Broker: {"12 create endpointslices", "1 create exportedservices", "1 create serviceimports", "1 update serviceimports/status"},
		"c1":       append([]string{"1 patch serviceexports/status"}, imported...),
		"c2":       imported,
	})

	change(t, "c1", sources[1], func(s *discoveryv1.EndpointSlice) { s.Endpoints[7].Addresses[0] = "11.1.99.9" })
	one := []string{"1 update endpointslices"}
	counted.expect("one endpoint's change", map[string][]string{lab.Broker: one, "c1": one, "c2": one})

	counted.replaced(sources, 20)

	// A change that does not concern other clusters causes no write.
	change(t, "c1", sources[1], func(s *discoveryv1.EndpointSlice) { s.Labels["someone"] = "else" })
	counted.expect("a label's change", nil)

	remove(t, "c1", e)
	expectGone(t, "c2", objects.Import(ns, "web"))
	expectGone(t, "c2", service(ns, "web-clusterset"))
	have := counted.written(burst)
	// A member withdraws its exported objects and deletes them ten minutes later.
	onBroker := []string{"1 delete serviceimports", "1 update exportedservices", "12 delete endpointslices"}
	if got := counts(have[lab.Broker]); !slices.Equal(slices.Sorted(slices.Values(got)), onBroker) {
		t.Errorf("deletion, writes on the broker:\n got %q\nwant %q", got, onBroker)
	}
	// In the clusters the garbage collector may have deleted objects first.
	for _, cluster := range []string{"c1", "c2"} {
		for _, line := range counts(have[cluster]) {
			number, what, _ := strings.Cut(line, " ")
			most := map[string]int{"delete serviceimports": 1, "delete services": 1, "delete endpointslices": n}[what]
			if number, err := strconv.Atoi(number); err != nil || number > most {
				t.Errorf("deletion, a write in %s: %s", cluster, line)
			}
		}
	}
}

// With client-go's default of 5 requests a second, the imports alone would take most of a
// minute: each is five writes.
//
// Pitfall 37.
func TestManyExportsAtOnce(t *testing.T) {
	const ns, n = "many", 50
	namespace(t, ns, "c1", "c2")
	var exports errgroup.Group
	exports.SetLimit(16)
	for i := range n {
		exports.Go(func() error {
			name := fmt.Sprintf("web-%d", i)
			for _, object := range []client.Object{
				service(ns, name, 80), slice(ns, name+"-x", name, fmt.Sprintf("13.1.1.%d", i)), export(ns, name),
			} {
				if err := on["c1"].Create(t.Context(), object); err != nil {
					return err
				}
			}
			return nil
		})
	}
	noError(t, exports.Wait())
	eventually(t, "everything is imported", func() error {
		list := &mcsv1beta1.ServiceImportList{}
		if err := on["c2"].List(t.Context(), list, client.InNamespace(ns)); err != nil {
			return err
		}
		usable := 0
		for i := range list.Items {
			if hasIP(&list.Items[i]) == nil {
				usable++
			}
		}
		if endpoints := len(slicesOf(t, "c2", ns)); usable < n || endpoints < n {
			return fmt.Errorf("%d of %d imports are usable, and there are %d slices", usable, n, endpoints)
		}
		return nil
	})
}
