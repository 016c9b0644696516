package arch

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The command line program is released for macOS, where nothing of ours runs before that: what Linux alone has must not get into it.
// All of it is type-checked as it would be built there, but for the bodies of other people's functions. To build it instead would compile all
// that it imports once more.
func TestCommandLineForMacOS(t *testing.T) {
	if testing.Short() || os.Getenv("ATOLL_NIGHTLY") == "" {
		t.Skip("reads the source of all that the program imports: nightly")
	}
	repository(t) // so that the go command knows what this depends on, and does not answer from its cache
	for _, problem := range problemsOn(t, "darwin", "./cmd/atoll") {
		t.Error(problem)
	}
	// It finds what is there for Linux alone.
	if problems := problemsOn(t, "darwin", "./lab/network"); len(problems) == 0 {
		t.Error("lab/network passes on macOS, which has no network namespaces")
	}
}

// problemsOn returns what keeps packages of ours from being built for an operating system: all of ours that they import.
func problemsOn(t *testing.T, system, of string) (problems []string) {
	t.Helper()
	env := append(os.Environ(), "GOOS="+system, "GOARCH=arm64", "CGO_ENABLED=0")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-e", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", of)
	list.Dir, list.Env = root, env
	var said bytes.Buffer
	list.Stderr = &said
	ours, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, said.String())
	}
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(), Dir: root, Env: env,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax,
	}, strings.Fields(string(ours))...)
	if err != nil {
		t.Fatal(err)
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, err := range p.Errors {
			problems = append(problems, err.Error())
		}
	})
	return problems
}
