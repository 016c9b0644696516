package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelp compares the commands, their arguments and their flags with testdata/commands.txt
// (update with ATOLL_UPDATE=1). Every command prints its help, and its examples use existing
// commands and flags.
func TestHelp(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var got strings.Builder
	describeCommands(t, NewRoot("atoll"), &got)
	const golden = "testdata/commands.txt"
	if os.Getenv("ATOLL_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the commands differ from %s (ATOLL_UPDATE=1 go test ./internal/cli writes it):\n%s", golden, diff)
	}
}

// describeCommands writes a command and its subcommands: a line with the arguments, then the
// flags.
func describeCommands(t *testing.T, c *cobra.Command, b *strings.Builder) {
	t.Helper()
	checkHelp(t, c)
	fmt.Fprintf(b, "%s\n", c.UseLine())
	var words []string
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { words = append(words, strings.Fields(describeFlag(t, f))...) })
	c.PersistentFlags().VisitAll(func(f *pflag.Flag) { words = append(words, strings.Fields(describeFlag(t, f)+" (inherited)")...) })
	for len(words) > 0 {
		line := "   "
		for len(words) > 0 && len(line)+len(words[0]) < 130 {
			line += " " + words[0]
			words = words[1:]
		}
		b.WriteString(line + "\n")
	}
	for _, sub := range c.Commands() {
		if sub.Name() == "completion" || sub.Name() == "help" || sub.Hidden {
			continue // of cobra, or not called by hand
		}
		describeCommands(t, sub, b)
	}
}

func describeFlag(t *testing.T, f *pflag.Flag) string {
	t.Helper()
	if f.Usage == "" {
		t.Errorf("--%s has no description", f.Name)
	}
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + " " + text
	}
	if f.Hidden {
		text += " (hidden)"
	}
	return fmt.Sprintf("%s=%s:%s", text, f.DefValue, f.Value.Type())
}

func checkHelp(t *testing.T, c *cobra.Command) {
	t.Helper()
	line := append(strings.Fields(c.CommandPath())[1:], "--help")
	var stdout, stderr bytes.Buffer
	if status := Main(append([]string{"atoll"}, line...), nil, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Errorf("atoll %s: status %d, %s", strings.Join(line, " "), status, stderr.String())
	}
	for _, want := range []string{c.Long, c.UseLine(), c.Example} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("atoll %s does not have %q", strings.Join(line, " "), want)
		}
	}
	if c.Short == "" {
		t.Errorf("%s has no description", c.CommandPath())
	}
	for example := range strings.Lines(c.Example) {
		checkExample(t, example)
	}
}

var exampleCommand = regexp.MustCompile(`\batoll ([^#|()>]*)`)

// checkExample reads the flags of the atoll commands in a line as the commands do.
func checkExample(t *testing.T, line string) {
	t.Helper()
	for _, match := range exampleCommand.FindAllStringSubmatch(line, -1) {
		words, _, _ := strings.Cut(match[1], " -- ")
		command, rest, err := NewRoot("atoll").Find(strings.Fields(words))
		if err == nil && command.HasSubCommands() {
			err = errors.New("no such command")
		}
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("example %q: %v", strings.TrimSpace(line), err)
		}
	}
}

// TestPlugin: as a kubectl plugin, the program shows its plugin name and completes words.
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
		{[]string{"/usr/bin/kubectl-atoll", "status", "--help"}, "kubectl atoll status [CONTEXT...] [flags]"},
		{[]string{"/usr/bin/kubectl_complete-atoll", "stat"}, "status\t"},
		{[]string{"atoll", "__complete", "status", "--context", "e"}, "east\neu\n:4"},
		{[]string{"atoll", "__complete", "shift", "--context", "east", "--context", "w"}, "west\n:4"},
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
