package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is lost is what clients have sent since the fault began and got no answer to.
func TestLostRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures")
	t.Setenv(figuresVariable, file)
	log := func(failed int) string {
		lines := "1.5 ok long ago\n1.6 failed long ago\nnoise\n"
		for i := range 10 {
			result := "ok pod=web-0"
			if i < failed {
				result = "failed timeout"
			}
			lines += fmt.Sprintf("%.6f %s\n", float64(time.Now().Add(time.Hour).UnixMicro())/1e6, result)
		}
		return lines
	}
	lab := newFake()
	failed := 0
	lab.kubectl = func(_ string, command Command) Result {
		if command.Args[0] == "logs" {
			return Result{Stdout: log(failed)}
		}
		return Result{}
	}
	script := "requests c1/shop/client c2/shop/client\nfault 'something'\nover\nconverged\nlost 3\n"
	if err := execute(t, lab, script); err != nil {
		t.Error(err)
	}
	failed = 2 // of each
	err := execute(t, lab, script)
	if err == nil || !strings.Contains(err.Error(), "4 of 20 requests had no answer") {
		t.Errorf("got %v", err)
	}
	rows, err := os.ReadFile(file)
	if want := "| something | 20 | 0 | 0.0 s |\n| something | 20 | 4 | 0.0 s |\n"; err != nil || string(rows) != want {
		t.Errorf("figures %q, %v", rows, err)
	}
	lab.kubectl = func(string, Command) Result { return Result{Stdout: "1.5 ok long ago\n"} }
	if err := execute(t, lab, script); err == nil || !strings.Contains(err.Error(), "has not sent any request") {
		t.Errorf("nobody sends anything: %v", err)
	}
}

// A unit that is battered runs afterwards, and half of the Services are exported.
func TestBatter(t *testing.T) {
	lab := newFake()
	if err := execute(t, lab, "batter c1/agent shop x2\n"); err != nil {
		t.Fatal(err)
	}
	if !lab.order("kill c1/agent", "start c1/agent", "kill c1/agent", "start c1/agent") {
		t.Errorf("happened: %v", lab.calls)
	}
}
