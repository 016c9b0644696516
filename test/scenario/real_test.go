package scenario

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestOnTerminal(t *testing.T) {
	result := onTerminal(exec.Command("sh", "-c", "test -t 0 && test -t 1 && echo one && echo two; exit 3"))
	if result.Stdout != "one\ntwo\n" {
		t.Errorf("output %q", result.Stdout)
	}
	var exit *exec.ExitError
	if !errors.As(result.Err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended with %v", result.Err)
	}
}

func TestFirstMatch(t *testing.T) {
	got, err := firstMatch(strings.NewReader("Forwarding from 127.0.0.1:4001 -> 8080\nForwarding from [::1]:4001 -> 8080\n"), forwarding)
	if err != nil || got != "127.0.0.1:4001" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err = firstMatch(strings.NewReader("error: no such pod\n"), regexp.MustCompile("(x)y")); err == nil || !strings.Contains(err.Error(), "no such pod") {
		t.Errorf("%v", err)
	}
}
