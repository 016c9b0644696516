package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	// labPrefix begins the names of labs that tests have started; the process id
	// of the test follows, and a number.
	labPrefix = "test-"
)

// labs gives scenarios their labs: one at a time, started when a scenario needs
// one of another shape.
type labs struct {
	name     string
	programs *programs
	current  *lab.Lab
	going    deletions // in current
	given    bool      // by the developer; it stays
	dns      string    // of the given one
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
			ls.switchDNS(ctx, t, need)
			return have
		}
		if ls.given {
			t.Skipf("lab %s has %+v, this needs %+v", ls.current.Name(), Use(ls.current).Shape(), need)
		}
		ls.down(t)
	}
	programs, err := ls.programs.built(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Up(ctx, lab.Options{
		Shape: lab.Shape{
			Name: ls.name, Clusters: need.Clusters, Nodes: need.Nodes, IPFamily: need.IPFamily, Bare: need.Bare, Hub: need.Hub,
			AdvertiseMode: lab.AdvertiseMode(need.AdvertiseMode), DNS: lab.ClusterDNS(need.DNS),
		},
		Atoll:    filepath.Join(programs, "atoll"),
		Progress: t.Output(),
	})
	if err != nil {
		t.Fatalf("starting a lab of %+v: %v", need, err)
	}
	ls.current = l
	return Use(l)
}

// switchDNS has what the script needs answer for the clusterset's zone.
func (ls *labs) switchDNS(ctx context.Context, t *testing.T, need Shape) {
	t.Helper()
	if ls.current.Spec.Bare {
		return
	}
	if err := ls.current.UseDNS(ctx, lab.ClusterDNS(need.DNS)); err != nil {
		t.Fatalf("switching the DNS of lab %s to %q: %v", ls.current.Name(), need.DNS, err)
	}
}

// programs are those under test, atoll and its parts.
type programs struct {
	once   sync.Once
	dir    string
	remove func()
	err    error
}

// built makes the programs, once, where they are not given.
func (p *programs) built(ctx context.Context) (dir string, err error) {
	p.once.Do(func() { p.dir, p.remove, p.err = planes.Programs(ctx) })
	return p.dir, p.err
}

// end deletes the programs, when no lab runs them any more.
func (p *programs) end() {
	if p.remove != nil {
		p.remove()
	}
}

// down ends the lab that the tests have started.
func (ls *labs) down(t *testing.T) {
	if ls.current == nil {
		return
	}
	if err := ls.going.wait(); err != nil {
		t.Error(err)
	}
	if ls.given {
		return
	}
	// Not the test's context: a lab goes down also when the test was interrupted.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := ls.current.Down(ctx); err != nil {
		t.Errorf("ending lab %s: %v", ls.current.Name(), err)
	}
	ls.current = nil
}

// end cleans up after all tests.
func (ls *labs) end(t *testing.T) {
	ls.down(t)
	// After a failed start there may be something without ls.current being set.
	if err := lab.Down(context.Background(), ls.name); err != nil && !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("ending lab %s: %v", ls.name, err)
	}
}

// removeAbandoned ends labs of test runs that were killed.
func removeAbandoned(t *testing.T) {
	t.Helper()
	names, err := lab.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		rest, ours := strings.CutPrefix(name, labPrefix)
		process, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(process)
		if err != nil || !ours || syscall.Kill(pid, 0) != syscall.ESRCH {
			continue
		}
		t.Logf("ending lab %s of a test run that is gone", name)
		if err := lab.Down(context.Background(), name); err != nil && !errors.Is(err, lab.ErrNoLab) {
			t.Errorf("ending lab %s: %v", name, err)
		}
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
