package hub_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/hub"
)

// The program in docs/how-to/load-balancers.md compiles outside this module, without internal
// packages.
func TestDocumentedProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "how-to", "load-balancers.md"))
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(page)
	if program == nil || !bytes.Contains(program[1], []byte("hub.Main()")) {
		t.Fatal("docs/how-to/load-balancers.md has no program that calls hub.Main")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, program[1], 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// Providers that other projects have registered can be selected.
func TestProvidersOfOthers(t *testing.T) {
	cloudprovider.Register("others", func(cloudprovider.Config) (cloudprovider.MCSLoadBalancer, error) { return nil, nil })
	command := hub.NewCommand()
	if usage := command.Flags().Lookup("lb-provider").Usage; !strings.Contains(usage, "embedded, haproxy, others") {
		t.Error(usage)
	}
	command.SetArgs([]string{"--lb-provider", "nobody"})
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(), "embedded, haproxy, others") {
		t.Errorf("got %v", err)
	}
}
