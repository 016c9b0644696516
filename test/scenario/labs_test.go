package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

const (
	// labVariable names a lab to use instead of starting labs.
	labVariable = "ATOLL_LAB"
	// formsVariable set to "all" runs scripts in all their forms; set to the name of a form,
	// such as "stock", it runs only that form.
	formsVariable = "ATOLL_FORMS"
	// proxyVariable sets the kube-proxy mode of labs that the tests start.
	proxyVariable = "ATOLL_PROXY_MODE"
	// labPrefix is the prefix of the names of labs that tests start. The process id of the test
	// and a number follow.
	labPrefix = "test-"
)

// labs provides a lab for each scenario. It keeps one lab and replaces it if a scenario needs
// another shape.
type labs struct {
	name     string
	programs string // folder of the programs under test
	current  *lab.Lab
	going    deletions      // deletions in the current lab
	given    bool           // the developer has started the lab; the tests do not delete it
	dns      lab.ClusterDNS // DNS of the developer's lab
}

// givenLab opens the developer's lab, if any.
func givenLab(t *testing.T) *lab.Lab {
	t.Helper()
	name := os.Getenv(labVariable)
	if name == "" {
		return nil
	}
	l, err := lab.Open(name)
	if err != nil {
		t.Fatalf("%s=%s: %v; start it with: bin/atoll lab up --name %s", labVariable, name, err, name)
	}
	return l
}

// get returns a lab that serves the shape. It skips the test if the developer's lab does not.
func (ls *labs) get(ctx context.Context, t *testing.T, need Shape) Lab {
	t.Helper()
	if ls.current != nil {
		if have := Use(ls.current); have.Shape().Serves(need) {
			ls.switchDNS(ctx, t, need.DNS)
			return have
		}
		if ls.given {
			t.Skipf("lab %s has %+v, this needs %+v", ls.current.Name(), Use(ls.current).Shape(), need)
		}
		ls.down(t)
	}
	options := lab.Options{Shape: need.Shape, Atoll: filepath.Join(ls.programs, "atoll"), Progress: t.Output()}
	options.Name, options.ProxyMode = ls.name, lab.ProxyMode(os.Getenv(proxyVariable))
	l, err := lab.Up(ctx, options)
	if err != nil {
		t.Fatalf("starting a lab of %+v: %v", need, err)
	}
	ls.current = l
	return Use(l)
}

// switchDNS switches the DNS server for the clusterset's zone.
func (ls *labs) switchDNS(ctx context.Context, t *testing.T, dns lab.ClusterDNS) {
	t.Helper()
	if ls.current.Spec.Bare {
		return
	}
	if err := ls.current.UseDNS(ctx, dns); err != nil {
		t.Fatalf("switching the DNS of lab %s to %q: %v", ls.current.Name(), dns, err)
	}
}

// down deletes the lab that the tests have started. After a failed start, parts of a lab may
// exist although ls.current is nil.
func (ls *labs) down(t *testing.T) {
	if err := ls.going.wait(); err != nil {
		t.Error(err) // the lab is still deleted
	}
	if !ls.given {
		takeDown(t, ls.name)
		ls.current = nil
	}
}

func takeDown(t *testing.T, name string) {
	// The test's context is not used, because the lab must be deleted after an interruption
	// too.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := lab.Down(ctx, name); err != nil && !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("ending lab %s: %v", name, err)
	}
}

// removeAbandoned deletes labs of test runs that were killed.
func removeAbandoned(t *testing.T) {
	t.Helper()
	names, err := lab.List()
	planes.NoError(t, err)
	for _, name := range names {
		rest, ours := strings.CutPrefix(name, labPrefix)
		process, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(process)
		if err != nil || !ours || syscall.Kill(pid, 0) != syscall.ESRCH {
			continue
		}
		t.Logf("deleting lab %s of a test run that was killed", name)
		takeDown(t, name)
	}
}

// required maps the programs that scenarios run to their Debian packages.
var required = map[string]string{"curl": "curl", "dig": "bind9-dnsutils", "nft": "nftables", "socat": "socat"}

// checkMachine reports everything that is missing on this machine.
func checkMachine() error {
	if os.Geteuid() != 0 {
		return errors.New("labs need root: use sudo, or skip scenarios with -short")
	}
	var packages []string
	for program, name := range required {
		if _, err := exec.LookPath(program); err != nil {
			packages = append(packages, name)
		}
	}
	if len(packages) > 0 {
		return fmt.Errorf("programs are missing: apt-get install %s", strings.Join(packages, " "))
	}
	return nil
}

// agenda assigns forms of scripts to workers. Each worker has a lab, and few labs should be
// started. A worker first takes forms that its lab serves, then a group that no worker has
// begun. At last the worker helps others, if that saves more time than another lab costs.
type agenda struct {
	mu     sync.Mutex
	groups []*group // largest group first
}

// group holds the remaining forms that can share a lab.
type group struct {
	shape Shape // serves all forms
	forms []form
	begun bool
}

// worthALab is the number of remaining forms that justify another lab. Starting a lab takes as
// long as one or two forms.
const worthALab = 4

func newAgenda(forms []form) *agenda {
	// The most demanding shapes come first, because their labs also serve other forms. Forms
	// with the same DNS are adjacent.
	forms = slices.Clone(forms)
	slices.SortStableFunc(forms, func(a, b form) int {
		return cmp.Or(first(!a.shape.Bare, !b.shape.Bare), first(a.shape.Hub, b.shape.Hub), b.shape.Clusters-a.shape.Clusters, cmp.Compare(a.shape.DNS, b.shape.DNS))
	})
	a := &agenda{}
	for _, f := range forms {
		i := slices.IndexFunc(a.groups, func(g *group) bool { return g.shape.Serves(f.shape) })
		if i < 0 {
			i = len(a.groups)
			a.groups = append(a.groups, &group{shape: f.shape})
		}
		a.groups[i].forms = append(a.groups[i].forms, f)
	}
	// Long forms come first, so that no worker runs a long form at the end while other workers
	// are idle.
	for _, g := range a.groups {
		slices.SortStableFunc(g.forms, func(x, y form) int {
			return cmp.Or(cmp.Compare(x.shape.DNS, y.shape.DNS), y.weight()-x.weight())
		})
	}
	slices.SortStableFunc(a.groups, func(x, y *group) int { return len(y.forms) - len(x.forms) })
	return a
}

// weight is 2 for the longest scripts, which break clusters or read beyond their namespaces. It
// is 0 for forms that are not scripts: these break their lab, so they run last.
func (f form) weight() int {
	switch {
	case f.script == nil:
		return 0
	case f.script.looksBeyondItsNamespaces():
		return 2
	}
	return 1
}

// first sorts true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// next returns a form for a worker. last is the group that the worker's lab served last, or
// nil. next returns no form if the worker has nothing left to do.
func (a *agenda) next(last *group) (*form, *group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.choose(last)
	if g == nil {
		return nil, nil
	}
	g.begun = true
	f := g.forms[0]
	g.forms = g.forms[1:]
	return &f, g
}

func (a *agenda) choose(last *group) *group {
	if last != nil && len(last.forms) > 0 {
		return last
	}
	var most *group
	for _, g := range a.groups {
		switch {
		case !g.begun:
			return g
		case len(g.forms) >= worthALab && (most == nil || len(g.forms) > len(most.forms)):
			most = g
		}
	}
	return most
}

func TestAgenda(t *testing.T) {
	var forms []form
	for names, settings := range map[string]string{"b": "bare=true", "s": "clusters=2", "de": "ip-family=dual", "fghijk": "ip-family=ipv4"} {
		for _, name := range names {
			forms = append(forms, form{name: string(name), shape: shape(t, settings)})
		}
	}
	slices.SortFunc(forms, func(a, b form) int { return strings.Compare(a.name, b.name) })
	// The forms of each worker, if the workers take turns:
	for name, want := range map[string][]string{
		"a single worker runs all forms with one lab per group": {"fghijksbde"},
		"a worker without forms helps with the largest group":   {"fghjs", "deikb"},
		"a worker stops if no remaining work justifies a lab":   {"fhjs", "de", "gikb"},
	} {
		t.Run(name, func(t *testing.T) {
			agenda := newAgenda(forms)
			did := make([]string, len(want))
			groups := make([]*group, len(want))
			done := make([]bool, len(want))
			for slices.Contains(done, false) {
				for i := range want {
					f, g := agenda.next(groups[i])
					if groups[i] = g; f == nil {
						done[i] = true
						continue
					}
					if !g.shape.Serves(f.shape) {
						t.Errorf("%s is in a group of %+v", f.name, g.shape)
					}
					did[i] += f.name
				}
			}
			if !slices.Equal(did, want) {
				t.Errorf("they did %q, want %q", did, want)
			}
		})
	}
}
