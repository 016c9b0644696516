package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelp compares what every command says of itself with testdata/help, a file for each command of the
// first level with those below it. ATOLL_UPDATE=1 writes them anew; then read what has changed.
func TestHelp(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := NewRoot("atoll")
	want := map[string]string{"atoll": helpOf(t, root)}
	for _, c := range root.Commands() {
		if c.Name() == "completion" || c.Name() == "help" || c.Hidden {
			continue // cobra's own, and what nobody calls by hand
		}
		want[c.Name()] = helpOfAll(t, c)
	}
	const folder = "testdata/help"
	if os.Getenv("ATOLL_UPDATE") != "" {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	have, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range have {
		if _, ok := want[strings.TrimSuffix(f.Name(), ".txt")]; !ok {
			t.Errorf("%s is of no command", f.Name())
		}
	}
	for name, text := range want {
		golden, err := os.ReadFile(filepath.Join(folder, name+".txt"))
		if err != nil {
			t.Error(err)
		} else if string(golden) != text {
			t.Errorf("the help of %s is\n%s\nwant\n%s\n(ATOLL_UPDATE=1 go test ./internal/cli writes it anew)", name, text, golden)
		}
	}
}

func helpOfAll(t *testing.T, c *cobra.Command) string {
	t.Helper()
	text := helpOf(t, c)
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			text += "\n" + helpOfAll(t, sub)
		}
	}
	return text
}

func helpOf(t *testing.T, c *cobra.Command) string {
	t.Helper()
	line := append(strings.Fields(c.CommandPath())[1:], "--help")
	var stdout, stderr bytes.Buffer
	if status := Main(append([]string{"atoll"}, line...), nil, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Errorf("atoll %s: status %d, %s", strings.Join(line, " "), status, stderr.String())
	}
	return "$ atoll " + strings.Join(line, " ") + "\n" + stdout.String()
}

// TestPlugin: called as kubectl calls it, the program shows its name there, and completes words.
func TestPlugin(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(`{"apiVersion":"v1","kind":"Config","contexts":[{"name":"east","context":{"cluster":"x"}},{"name":"eu","context":{"cluster":"x"}},{"name":"west","context":{"cluster":"x"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"/usr/bin/kubectl-atoll", "status", "--help"}, "kubectl atoll status [flags]"},
		{[]string{"/usr/bin/kubectl_complete-atoll", "stat"}, "status\t"},
		{[]string{"atoll", "__complete", "status", "--context", "e"}, "east\neu\n:4"},
		{[]string{"atoll", "__complete", "check", "east", ""}, "eu\nwest\n:4"},
		{[]string{"atoll", "__complete", "verify", "w"}, "west\n:4"},
		{[]string{"atoll", "__complete", "get", "clusters", "-o", ""}, "json\nname\ntable\nwide\nyaml\n:4"},
		{[]string{"atoll", "__complete", "explain", "shop/web", ""}, ":4"},
		{[]string{"atoll", "completion", "bash"}, "bash completion V2 for atoll"},
	} {
		var stdout, stderr bytes.Buffer
		if status := Main(c.line, nil, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), c.want) {
			t.Errorf("%v: status %d, %q does not have %q; %s", c.line, status, stdout.String(), c.want, stderr.String())
		}
	}
}
