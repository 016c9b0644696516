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
	// formsVariable set to "all" has scripts run in all their forms, set to one, as
	// "stock", in that one only.
	formsVariable = "ATOLL_FORMS"
	// proxyVariable is the mode of kube-proxy in labs that the tests start.
	proxyVariable = "ATOLL_PROXY_MODE"
	// labPrefix begins the names of labs that tests have started; the process id
	// of the test follows, and a number.
	labPrefix = "test-"
)

// labs gives scenarios their labs: one at a time, started when a scenario needs
// one of another shape.
type labs struct {
	name     string
	programs string // the folder of those under test
	current  *lab.Lab
	going    deletions      // in current
	given    bool           // by the developer; it stays
	dns      lab.ClusterDNS // of the given one
}

// givenLab opens the lab that the developer wants to be used, if any.
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

// get returns a lab that will do for the shape, and skips the test where the
// developer's does not.
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

// switchDNS has what a script needs answer for the clusterset's zone.
func (ls *labs) switchDNS(ctx context.Context, t *testing.T, dns lab.ClusterDNS) {
	t.Helper()
	if ls.current.Spec.Bare {
		return
	}
	if err := ls.current.UseDNS(ctx, dns); err != nil {
		t.Fatalf("switching the DNS of lab %s to %q: %v", ls.current.Name(), dns, err)
	}
}

// down ends the lab that the tests have started. After a failed start there may be something without ls.current being set.
func (ls *labs) down(t *testing.T) {
	if err := ls.going.wait(); err != nil {
		t.Error(err) // and the lab goes down all the same
	}
	if !ls.given {
		takeDown(t, ls.name)
		ls.current = nil
	}
}

func takeDown(t *testing.T, name string) {
	// Not the test's context: a lab goes down also when the test was interrupted.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := lab.Down(ctx, name); err != nil && !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("ending lab %s: %v", name, err)
	}
}

// removeAbandoned ends labs of test runs that were killed.
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
		t.Logf("ending lab %s of a test run that is gone", name)
		takeDown(t, name)
	}
}

// required are the programs that scenarios run, and Debian's packages of them.
var required = map[string]string{"curl": "curl", "dig": "bind9-dnsutils", "nft": "nftables", "socat": "socat"}

// checkMachine says what is missing on this machine, all of it at once.
func checkMachine() error {
	if os.Geteuid() != 0 {
		return errors.New("labs need root: use sudo, or -short to leave scenarios out")
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

// agenda deals out forms of scripts to workers that have a lab each, such that few labs
// have to be started: a worker goes on with what its lab serves, then begins with what no
// other has begun, and last helps the others where that saves more than a lab costs.
type agenda struct {
	mu     sync.Mutex
	groups []*group // in the order in which they are begun: the largest first
}

// group holds the forms that are left of those that can share a lab.
type group struct {
	shape Shape // serves all of them
	forms []form
	begun bool
}

// worthALab is how many forms must be left for another lab to be started for them: one
// takes as long as a form or two.
const worthALab = 4

func newAgenda(forms []form) *agenda {
	// The most demanding shapes first, for they serve others too; then with one DNS after
	// the other.
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
	// Long forms first, so that a worker is not left with one at the end while the others are idle.
	for _, g := range a.groups {
		slices.SortStableFunc(g.forms, func(x, y form) int {
			return cmp.Or(cmp.Compare(x.shape.DNS, y.shape.DNS), y.weight()-x.weight())
		})
	}
	slices.SortStableFunc(a.groups, func(x, y *group) int { return len(y.forms) - len(x.forms) })
	return a
}

// weight is 2 for the scripts that take longest: they break clusters, or wait for the clusters' own view. It is 0 for what is no
// script: that breaks its lab, so that it comes last.
func (f form) weight() int {
	switch {
	case f.script == nil:
		return 0
	case f.script.looksBeyondItsNamespaces():
		return 2
	}
	return 1
}

// first puts what a condition holds for before what it does not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// next takes a form for a worker whose lab serves the group last, which is nil before the
// first. It returns no form when there is nothing left for the worker to do.
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
	// What each worker does when they take turns.
	for name, want := range map[string][]string{
		"one does all, in as few labs as there are groups":   {"fghijksbde"},
		"who has done its own helps with the largest":        {"fghjs", "deikb"},
		"who finds no more work that is worth a lab is done": {"fhjs", "de", "gikb"},
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
