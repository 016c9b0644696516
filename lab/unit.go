package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/lab/process"
)

// wholeLab is the folder of units that belong to no cluster.
const wholeLab = "lab"

// Unit is a program of a lab. It runs until it is killed, and can be restarted unchanged.
type Unit struct {
	// Cluster is c1 to cN or broker, Name the unit's name there. Units of the same kind end in a dash, an optional
	// letter and a number: kube-proxy-n2, agent-1.
	Cluster, Name string
	// Namespace is the network namespace to run in; "" means this machine's own.
	Namespace network.Namespace
	Argv      []string
	// Env is added to the lab's small environment.
	Env []string
	// Files are written before the unit starts: the contents by path relative to the cluster's folder.
	Files map[string]string
	// Address is the unit's address, for people.
	Address string
	// Probe is a URL that returns 200 when the unit is ready, as seen from the unit, or tcp://ADDRESS to connect to, or
	// unix://PATH of a container runtime's socket. Without a probe, a running unit is ready.
	Probe string
}

// onNode is the name of a unit that each node has, by the node's number.
func onNode(unit string, number int) string { return fmt.Sprintf("%s-n%d", unit, number) }

// String is the unit's name for people and on the command line.
func (u Unit) String() string { return u.Cluster + "/" + u.Name }

var unitNameRE = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// unitNumber matches the suffix of units of the same kind.
var unitNumber = regexp.MustCompile(`^-[a-z]?[0-9]+$`)

func (l *Lab) unitFile(cluster, name string) string {
	return filepath.Join(l.Dir(cluster), "units", name+".json")
}

func (l *Lab) recordFile(u Unit) string {
	return filepath.Join(l.Dir(u.Cluster), "units", u.Name+".pid")
}

// Log is the file with a unit's output.
func (l *Lab) Log(u Unit) string {
	return filepath.Join(l.Dir(u.Cluster), "logs", u.Name+".log")
}

// Run adds a unit to the lab and starts it. It replaces a unit of the same name.
func (l *Lab) Run(ctx context.Context, u Unit) error {
	if !unitNameRE.MatchString(u.Name) {
		return fmt.Errorf("starting a unit: invalid name %q", u.Name)
	}
	if err := l.kill(ctx, u); err != nil {
		return err
	}
	for path, data := range u.Files {
		if err := writeFile(filepath.Join(l.Dir(u.Cluster), path), []byte(data), 0o600); err != nil {
			return fmt.Errorf("starting %s: %w", u, err)
		}
	}
	data, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return fmt.Errorf("starting %s: %w", u, err)
	}
	if err := writeFile(l.unitFile(u.Cluster, u.Name), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("starting %s: %w", u, err)
	}
	return l.start(u)
}

// start starts a unit that is not running.
func (l *Lab) start(u Unit) error {
	if err := os.MkdirAll(filepath.Dir(l.Log(u)), 0o700); err != nil {
		return fmt.Errorf("starting %s: %w", u, err)
	}
	_, err := process.Start(process.Command{
		Argv: u.Argv, Env: append(l.environment(), u.Env...), Dir: l.Dir(u.Cluster),
		Log: l.Log(u), Namespace: u.Namespace,
	}, l.recordFile(u))
	if err != nil {
		return fmt.Errorf("starting %s: %w", u, err)
	}
	return nil
}

// environment is every unit's environment: the lab's programs come first in PATH, and the user's settings are excluded.
func (l *Lab) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH") + ":" + l.Spec.Programs,
		"HOME=" + l.dir,
		"LANG=C.UTF-8",
		"ATOLL_LAB=" + l.Name(),
	}
}

// kill kills a unit's process, if there is one, without a grace period.
func (l *Lab) kill(ctx context.Context, u Unit) error {
	record, err := process.Load(l.recordFile(u))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = record.Stop(ctx, 0)
	}
	if err != nil {
		return fmt.Errorf("killing %s: %w", u, err)
	}
	return nil
}

func (l *Lab) alive(u Unit) bool {
	record, err := process.Load(l.recordFile(u))
	return err == nil && record.Alive()
}

// Units returns all units of the lab, running or not, by cluster and name.
func (l *Lab) Units() ([]Unit, error) {
	var units []Unit
	for _, cluster := range l.folders() {
		paths, err := filepath.Glob(l.unitFile(cluster, "*"))
		if err != nil {
			return nil, fmt.Errorf("listing units: %w", err)
		}
		slices.SortFunc(paths, func(a, b string) int { // agent before agent-1
			return strings.Compare(strings.TrimSuffix(a, ".json"), strings.TrimSuffix(b, ".json"))
		})
		for _, path := range paths {
			u, err := readUnit(path)
			if err != nil {
				return nil, err
			}
			units = append(units, u)
		}
	}
	return units, nil
}

// folders are the names of the clusters' folders and the lab's own.
func (l *Lab) folders() []string {
	names := []string{}
	for _, c := range l.Spec.Clusters {
		names = append(names, c.Name)
	}
	return append(names, wholeLab)
}

func readUnit(path string) (Unit, error) {
	var u Unit
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &u)
	}
	if err != nil {
		return Unit{}, fmt.Errorf("reading unit %s: %w", path, err)
	}
	return u, nil
}

// is reports whether name is the unit's name, with or without the number.
func (u Unit) is(name string) bool {
	rest, ok := strings.CutPrefix(u.Name, name)
	return ok && (rest == "" || unitNumber.MatchString(rest))
}

// find returns the units that CLUSTER/UNIT matches: the one of that name, or all with that name and a number.
func (l *Lab) find(target string) ([]Unit, error) {
	cluster, name, ok := strings.Cut(target, "/")
	if !ok || name == "" {
		return nil, fmt.Errorf("%w: %q does not have the form CLUSTER/UNIT, such as c1/apiserver", ErrUsage, target)
	}
	all, err := l.Units()
	if err != nil {
		return nil, err
	}
	var found []Unit
	var known []string
	for _, u := range all {
		if u.Cluster != cluster {
			continue
		}
		known = append(known, u.Name)
		if u.is(name) {
			found = append(found, u)
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%w: lab %[3]s has no cluster %[2]q", ErrUsage, cluster, l.Name())
	}
	known = append(known, l.workloadUnits(cluster)...)
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: cluster %[3]s has no unit %[2]q, only %[4]s", ErrUsage, name, cluster, strings.Join(known, ", "))
	}
	return found, nil
}

// Kill ends the units that target (CLUSTER/UNIT) matches, like a crash, until they are started again. Their data
// remains.
func (l *Lab) Kill(ctx context.Context, target string) error {
	if w, ok := l.workload(target); ok {
		return l.killWorkload(ctx, w)
	}
	return l.each(ctx, target, func(u Unit) error { return l.kill(ctx, u) })
}

// Start starts the units that target (CLUSTER/UNIT) matches, and waits until they are ready, even if they run already.
// An API server needs etcd.
func (l *Lab) Start(ctx context.Context, target string) error {
	if w, ok := l.workload(target); ok {
		return l.startWorkload(ctx, w)
	}
	var started []Unit
	err := l.each(ctx, target, func(u Unit) error {
		if etcd := (Unit{Cluster: u.Cluster, Name: unitEtcd}); u.Name == unitAPIServer && !l.alive(etcd) {
			return fmt.Errorf("starting %s: unit %[2]s is not running: start %[2]s first", u, etcd)
		}
		started = append(started, u)
		if l.alive(u) {
			return nil
		}
		return l.start(u)
	})
	if err != nil {
		return err
	}
	for _, u := range started {
		if err := l.waitProbe(ctx, u); err != nil {
			return err
		}
		if u.Name != unitEtcd {
			continue
		}
		if server, err := readUnit(l.unitFile(u.Cluster, unitAPIServer)); err == nil && l.alive(server) {
			if err := l.waitProbe(ctx, server); err != nil { // until it has reconnected
				return err
			}
		}
	}
	return nil
}

// each calls f for the units that target matches, under the lock.
func (l *Lab) each(ctx context.Context, target string, f func(Unit) error) error {
	units, err := l.find(target)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, l.Name(), time.Minute)
	if err != nil {
		return err
	}
	defer unlock()
	for _, u := range units {
		if err := f(u); err != nil {
			return err
		}
	}
	return nil
}

// failed reports that a unit ended during a wait, with the end of its log.
func (l *Lab) failed(u Unit) error {
	const lines = 8
	data, _ := os.ReadFile(l.Log(u))
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	end := strings.Join(all[max(0, len(all)-lines):], "\n")
	hint := ""
	if strings.Contains(end, "too many open files") {
		hint = "\nmany labs use up this user's file watches: remove a lab, or raise the limit: sysctl fs.inotify.max_user_instances=4096"
	}
	return fmt.Errorf("unit %s has ended. Last lines of the log %s:\n%s%s", u, l.Log(u), end, hint)
}
