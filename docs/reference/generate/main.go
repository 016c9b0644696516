// Command generate generates the reference pages of kinds, labels, messages and commands from the Go code.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const usage = `usage: go run ./docs/reference/generate          (or: make generate)

Writes api.md, labels.md, messages.md and commands.md in docs/reference, from the repository's folder.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		fmt.Fprint(stdout, usage)
		return 0
	case len(args) > 0:
		fmt.Fprint(stderr, usage)
		return 64
	}
	pages, err := generated(".")
	for name, text := range pages {
		if err == nil {
			err = os.WriteFile(filepath.Join("docs", "reference", name), []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "docs/reference/generate:", err)
		return 1
	}
	return 0
}

// header begins every page.
const header = "<!-- Made by make generate of the Go code. Do not edit. -->\n\n"

// generated are the pages, by name, of the repository in the folder root.
func generated(root string) (map[string]string, error) {
	kinds, err := kindsPage(root)
	if err != nil {
		return nil, err
	}
	labels, err := labelsPage(root)
	if err != nil {
		return nil, err
	}
	messages, err := messagesPage(root)
	return map[string]string{"api.md": header + kinds, "labels.md": header + labels, "messages.md": header + messages, "commands.md": header + commandsPage()}, err
}
