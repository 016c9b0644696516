package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/lab/network"
)

// started runs a shell script as a recorded process, and returns after its first line of
// output. The cleanup kills the process.
func started(t *testing.T, script string, namespace network.Namespace) (Record, string) {
	t.Helper()
	dir := t.TempDir()
	c := Command{
		Argv: []string{"/bin/sh", "-c", script}, Env: []string{"GREETING=hello world"},
		Log: filepath.Join(dir, "log"), Namespace: namespace,
	}
	r, err := Start(c, filepath.Join(dir, "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background(), 0) })
	line := firstLine(t, c.Log)
	loaded, err := Load(filepath.Join(dir, "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	if loaded.PID != r.PID || loaded.StartTime != r.StartTime || !slices.Equal(loaded.Argv, c.Argv) {
		t.Errorf("loaded %+v, want %+v", loaded, r)
	}
	return loaded, line
}

func firstLine(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if data, _ := os.ReadFile(path); strings.Contains(string(data), "\n") {
			line, _, _ := strings.Cut(string(data), "\n")
			return line
		}
	}
	t.Fatalf("no line in %s", path)
	return ""
}

func TestStart(t *testing.T) {
	r, line := started(t, `echo $$ "$GREETING" "$(cat)" "$0" "${HOME:-none}"; exec sleep 1000`, "")
	if want := fmt.Sprintf("%d hello world  /bin/sh none", r.PID); line != want {
		t.Errorf("the process said %q, want %q", line, want)
	}
	if !r.Alive() {
		t.Fatal("not alive")
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID))
	if f := strings.Fields(string(stat)); f[5] != fmt.Sprint(r.PID) {
		t.Errorf("session %s, want its own, %d", f[5], r.PID)
	}
	if m, err := r.Memory(); err != nil || m <= 0 {
		t.Errorf("memory %d, %v", m, err)
	}
	if err := r.Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if r.Alive() {
		t.Error("alive after Stop")
	}
	if err := r.Stop(t.Context(), time.Minute); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if err := r.Wait(t.Context()); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "r")
	if _, err := Start(Command{Argv: []string{"/no/such/program"}, Log: filepath.Join(dir, "log")}, record); err == nil {
		t.Error("started a missing program")
	}
	if _, err := Load(record); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("record: %v", err)
	}
	if _, err := Start(Command{Argv: []string{"true"}, Log: filepath.Join(dir, "log")}, filepath.Join(dir, "no", "r")); err == nil {
		t.Error("started a program without a record")
	}
}

func TestStopInsists(t *testing.T) {
	r, _ := started(t, `trap "" TERM; echo ready; while :; do sleep 1000; done`, "")
	if err := r.Stop(t.Context(), 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if r.Alive() {
		t.Error("alive after Stop")
	}
}

func TestWaitGivesUp(t *testing.T) {
	r, _ := started(t, `echo ready; exec sleep 1000`, "")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := r.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait: %v", err)
	}
	if !r.Alive() {
		t.Error("Wait killed the process")
	}
}

// TestRecycled checks that a process with a recycled process id is not touched.
func TestRecycled(t *testing.T) {
	r, _ := started(t, `echo ready; exec sleep 1000`, "")
	for name, other := range map[string]Record{
		"another start":   {PID: r.PID, StartTime: r.StartTime - 1, BootID: r.BootID},
		"before a reboot": {PID: r.PID, StartTime: r.StartTime, BootID: "another"},
	} {
		if other.Alive() {
			t.Errorf("%s: alive", name)
		}
		if err := other.Stop(t.Context(), 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !r.Alive() {
			t.Fatalf("%s: the wrong process was ended", name)
		}
	}
}

// TestStarterDies kills a starter between fork and record; the program must
// not begin.
func TestStarterDies(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", gate, "sh", "echo", "begun")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	if bufio.NewScanner(out).Scan() {
		t.Error("the program began")
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the gate reported success")
	}
}

func TestKillIn(t *testing.T) {
	if testing.Short() || os.Geteuid() != 0 {
		t.Skip("needs root and network namespaces")
	}
	n := network.Namespace(fmt.Sprintf("atoll-proctest-%d", os.Getpid()))
	if err := n.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Delete() })
	outside, _ := started(t, `echo ready; exec sleep 1000`, "")
	inside, where := started(t, `readlink /proc/self/ns/net; sleep 1001 & exec sleep 1000`, n)
	if here, _ := os.Readlink("/proc/self/ns/net"); where == here {
		t.Error("not in the namespace")
	}
	if err := KillIn(t.Context(), []network.Namespace{n, "atoll-not-there"}); err != nil {
		t.Fatal(err)
	}
	if inside.Alive() || !outside.Alive() {
		t.Errorf("alive: inside %t, outside %t", inside.Alive(), outside.Alive())
	}
	if fds, err := openIn(map[string]bool{where: true}); err != nil || len(fds) != 0 {
		t.Errorf("%d processes left in the namespace, %v", len(fds), err)
	}
}

func TestPaused(t *testing.T) {
	r, _ := started(t, `echo ready; exec sleep 1000`, "")
	state := func() byte {
		st, err := readStat(r.PID)
		if err != nil {
			t.Fatal(err)
		}
		return st.state
	}
	broken := errors.New("broken")
	err := r.Paused(t.Context(), func() error {
		if s := state(); s != 'T' {
			t.Errorf("while paused: state %c", s)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("the error of the function: %v", err)
	}
	if s := state(); s == 'T' {
		t.Error("the process is still paused")
	}
	if err := r.Stop(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := r.Paused(t.Context(), func() error { return nil }); err == nil {
		t.Error("no error for pausing a process that has ended")
	}
}

func TestParseStat(t *testing.T) {
	rest := " S 1 2 2 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 123456 1 2 3"
	want := stat{'S', 3 * time.Second, 123456}
	for _, line := range []string{"42 (sleep)" + rest, "42 (a) Z (b)" + rest} {
		if got, err := parseStat(line); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "42 (sleep) S 1"} {
		if _, err := parseStat(line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}
