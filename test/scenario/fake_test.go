package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// fakeLab answers kubectl and programs from functions and notes what was asked.
type fakeLab struct {
	shape   Shape
	kubectl func(cluster string, command Command) Result
	exec    func(cluster string, args []string) Result
	hang    bool // kubectl delete never ends

	mu    sync.Mutex
	calls []string
}

func newFake() *fakeLab { return &fakeLab{shape: DefaultShape} }

func (f *fakeLab) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

// called counts the calls that begin with the text.
func (f *fakeLab) called(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// order says whether the calls were made in this order.
func (f *fakeLab) order(prefixes ...string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := 0
	for _, prefix := range prefixes {
		i := slices.IndexFunc(f.calls[from:], func(c string) bool { return strings.HasPrefix(c, prefix) })
		if i < 0 {
			return false
		}
		from += i + 1
	}
	return true
}

func (f *fakeLab) Shape() Shape { return f.shape }

func (f *fakeLab) Kubectl(ctx context.Context, cluster string, command Command) Result {
	f.note("%s kubectl %s", cluster, strings.Join(command.Args, " "))
	if f.hang && command.Args[0] == "delete" {
		<-ctx.Done()
		return Result{Err: errors.New("signal: killed")}
	}
	if f.kubectl == nil {
		return Result{}
	}
	return f.kubectl(cluster, command)
}

func (f *fakeLab) CreateNamespace(ctx context.Context, cluster, namespace string) error {
	return withStderr(f.Kubectl(ctx, cluster, Command{Args: []string{"create", "namespace", namespace}})).Err
}

func (f *fakeLab) DeleteNamespace(ctx context.Context, cluster, namespace string) error {
	return withStderr(f.Kubectl(ctx, cluster, Command{Args: []string{"delete", "namespace", namespace}})).Err
}

func (f *fakeLab) Atoll(_ context.Context, cluster string, args ...string) Result {
	f.note("%s atoll %s", cluster, strings.Join(args, " "))
	return Result{}
}

func (f *fakeLab) Helm(_ context.Context, cluster string, args ...string) Result {
	f.note("%s helm %s", cluster, strings.Join(args, " "))
	return Result{}
}

func (f *fakeLab) Shell(_ context.Context, cluster, _, script string) Result {
	f.note("%s shell %s", cluster, script)
	if f.exec == nil {
		return Result{}
	}
	return f.exec(cluster, []string{script})
}

func (f *fakeLab) Exec(_ context.Context, cluster string, args ...string) Result {
	f.note("%s exec %s", cluster, strings.Join(args, " "))
	if f.exec == nil {
		return Result{}
	}
	return f.exec(cluster, args)
}

func (f *fakeLab) PortForward(context.Context, string, string, string, string) (string, func(), error) {
	return "", nil, errors.New("no forwarding")
}

func (f *fakeLab) Cut(_ context.Context, a, b string) error {
	f.note("cut %s %s", a, b)
	return nil
}

func (f *fakeLab) Heal(_ context.Context, a, b string) error {
	f.note("heal %s %s", a, b)
	return nil
}

func (f *fakeLab) Kill(_ context.Context, unit string) error {
	f.note("kill %s", unit)
	return nil
}

func (f *fakeLab) Start(_ context.Context, unit string) error {
	f.note("start %s", unit)
	return nil
}

func (f *fakeLab) Snapshot(_ context.Context, name string) error {
	f.note("snapshot %s", name)
	return nil
}

func (f *fakeLab) Restore(_ context.Context, name string) error {
	f.note("restore %s", name)
	return nil
}

func (f *fakeLab) Wipe(context.Context) error {
	f.note("wipe")
	return nil
}

func (f *fakeLab) Rename(_ context.Context, cluster, id string) error {
	f.note("rename %s %s", cluster, id)
	return nil
}

func (f *fakeLab) Rejoin(_ context.Context, clusters ...string) error {
	f.note("rejoin %s", strings.Join(clusters, ","))
	return nil
}
