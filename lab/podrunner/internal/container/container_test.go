package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// initArgument makes the test program a container's first process.
const initArgument = "container-init-of-test"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == initArgument {
		Init()
	}
	os.Exit(m.Run())
}

// here is the network namespace of the test itself.
type here struct{}

func (here) Do(f func() error) error { return f() }

func start(t *testing.T, spec Spec) (*Process, error) {
	t.Helper()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("needs root and mounts")
	}
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start([]string{exe, initArgument}, here{}, spec)
	if err == nil {
		t.Cleanup(func() {
			p.Kill()
			<-p.Done()
			p.Close()
		})
	}
	return p, err
}

func mustStart(t *testing.T, spec Spec) *Process {
	t.Helper()
	p, err := start(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, syscall.EIO) { // a terminal's end
		t.Fatal(err)
	}
	return string(b)
}

func ended(t *testing.T, p *Process) int {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the container does not end")
	}
	return p.ExitCode()
}

// A container starts whatever the length of its spec is: of some lengths a decoder of JSON leaves a byte in the socket.
func TestSpecOfAnyLength(t *testing.T) {
	spec := Spec{Hostname: "web-0", Args: []string{"true"}, Env: []string{""}}
	for _, buffer := range []int{512, 1536, 3584, 7680, 4096} {
		for length := buffer - 1; length <= buffer+1; length++ {
			spec.Dir, spec.Env[0] = t.TempDir(), ""
			bare, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			spec.Env[0] = "A=" + strings.Repeat("a", length-len(bare)-len("A="))
			if code := ended(t, mustStart(t, spec)); code != 0 {
				t.Errorf("a spec of %d bytes: code %d", length, code)
			}
		}
	}
}

func TestCommandRunsIsolated(t *testing.T) {
	dir := t.TempDir()
	resolv := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver 192.0.2.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.MkdirAll(secret, 0o755); err != nil {
		t.Fatal(err)
	}
	marker := "/usr/share/atoll-test-marker"
	p := mustStart(t, Spec{
		Hostname: "web-0",
		Mounts: []Mount{
			{Source: resolv, Target: "/etc/resolv.conf", ReadOnly: true},
			{Source: secret, Target: "/var/run/secrets/x", ReadOnly: true},
		},
		Env: []string{"GREETING=hello"},
		Args: []string{"sh", "-c", `hostname; cat /etc/resolv.conf; echo $GREETING; echo $$; ls /run; ls /run/secrets;
echo x > ` + marker + ` && cat ` + marker + `; echo y 2>/dev/null > /var/run/secrets/x/y || echo read-only
echo 1 2>/dev/null > /proc/sys/kernel/panic || echo no-sysctl; echo oops >&2; exit 7`},
	})
	want := "web-0\nnameserver 192.0.2.1\nhello\n"
	got := readAll(t, p.Stdout)
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	if tail := "lock\nsecrets\nx\nx\nread-only\nno-sysctl\n"; !strings.HasSuffix(got, tail) {
		t.Errorf("got %q, want it to end with %q", got, tail)
	}
	if diff := cmp.Diff("oops\n", readAll(t, p.Stderr)); diff != "" {
		t.Error(diff)
	}
	if code := ended(t, p); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Errorf("%s was written on the host", marker)
	}
}

func TestSignals(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		signal syscall.Signal
		code   int
	}{
		"a default disposition ends the command": {"echo up; sleep 100", syscall.SIGTERM, 143},
		"a handler decides":                      {"trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done", syscall.SIGTERM, 3},
		"kill":                                   {"trap '' TERM; echo up; sleep 100", syscall.SIGKILL, 137},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustStart(t, Spec{Args: []string{"sh", "-c", tc.script}})
			if _, err := io.ReadFull(p.Stdout, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			if err := p.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			if code := ended(t, p); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	_, err := start(t, Spec{Args: []string{"no-such-program"}})
	var startErr *StartError
	if !errors.As(err, &startErr) || !strings.Contains(err.Error(), "not found in $PATH") {
		t.Errorf("got %v", err)
	}
	_, err = start(t, Spec{Args: []string{"true"}, Mounts: []Mount{{Source: "/no/such", Target: "/x"}}})
	if err == nil || errors.As(err, &startErr) {
		t.Errorf("a missing mount gave %v", err)
	}
}

func TestExec(t *testing.T) {
	p := mustStart(t, Spec{Hostname: "web-0", Env: []string{"A=b"}, Args: []string{"sleep", "100"}})
	for name, tc := range map[string]struct {
		exec   Exec
		stdout string
		code   int
	}{
		"output and code": {Exec{Args: []string{"sh", "-c", "hostname; echo $A; exit 4"}}, "web-0\nb\n", 4},
		"input":           {Exec{Args: []string{"cat"}, Stdin: strings.NewReader("in")}, "in", 0},
		"terminal":        {Exec{Args: []string{"sh", "-c", "tty; exit 5"}, TTY: true}, "/dev/pts/0\r\n", 5},
		"terminal's size": {Exec{Args: []string{"sh", "-c", "while [ \"$(stty size)\" != '7 9' ]; do :; done; echo ok"},
			TTY: true, Resize: oneSize(Size{9, 7})}, "ok\r\n", 0},
		"left behind": {Exec{Args: []string{"sh", "-c", "sleep 60 >/dev/null 2>&1 & echo x"}}, "x\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			tc.exec.Stdout = &out
			code, err := p.Exec(t.Context(), tc.exec)
			if err != nil || code != tc.code || out.String() != tc.stdout {
				t.Errorf("got %q, code %d, error %v; want %q, %d", out.String(), code, err, tc.stdout, tc.code)
			}
		})
	}
	code, err := p.Exec(t.Context(), Exec{Args: []string{"no-such-program"}})
	var startErr *StartError
	if code != 127 || !errors.As(err, &startErr) {
		t.Errorf("missing program: code %d, error %v", code, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if code, err := p.Exec(ctx, Exec{Args: []string{"sh", "-c", "echo up; exec sleep 100"}, Stdout: onWrite(cancel)}); code != 137 {
		t.Errorf("out of time: code %d, error %v", code, err)
	}
	p.Kill()
	<-p.Done()
	if _, err := p.Exec(t.Context(), Exec{Args: []string{"true"}}); err == nil {
		t.Error("executing in an ended container succeeded")
	}
}

// onWrite is called when something is written.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func oneSize(s Size) <-chan Size {
	c := make(chan Size, 1)
	c <- s
	return c
}

func TestTerminal(t *testing.T) {
	p := mustStart(t, Spec{TTY: true, Stdin: true, Args: []string{"sh", "-c", "tty; read x; echo got $x"}})
	if _, err := p.Terminal.WriteString("word\n"); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, p.Terminal); !strings.Contains(got, "/dev/pts/0\r\n") || !strings.Contains(got, "got word") {
		t.Errorf("got %q", got)
	}
}

func TestUserAndReadOnlyRoot(t *testing.T) {
	p := mustStart(t, Spec{
		User: &User{UID: 65534, GID: 65534, Groups: []uint32{7}}, ReadOnlyRoot: true,
		Args: []string{"sh", "-c", "id -u; id -G; echo x 2>/dev/null >/usr/x || echo no"},
	})
	if diff := cmp.Diff("65534\n65534 7\nno\n", readAll(t, p.Stdout)); diff != "" {
		t.Error(diff)
	}
}

func TestSearchPath(t *testing.T) {
	exists := func(path string) error {
		if path == "/b/tool" || path == "./tool" || path == "/usr/bin/env" {
			return nil
		}
		return os.ErrNotExist
	}
	for _, tc := range []struct{ file, list, want string }{
		{"tool", "/a:/b:/c", "/b/tool"},
		{"env", "", "/usr/bin/env"},
		{"./tool", "/b", "./tool"},
		{"/a/tool", "/b", ""},
		{"tool", "/a", ""},
		{"", "/a", ""},
	} {
		got, err := searchPath(tc.file, tc.list, exists)
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%q in %q: got %q, %v", tc.file, tc.list, got, err)
		}
	}
}
