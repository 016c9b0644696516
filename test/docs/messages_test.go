package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/test/pages"
)

var (
	// verb matches a verb of package fmt.
	verb = regexp.MustCompile(`%(\[\d+\])?[+#]?[a-z]`)
	// advice matches a text that tells the reader to run a command. Help texts do not match.
	// Commands of labs have no contexts.
	advice = regexp.MustCompile(`(^|[:;,] |\brun |\bwith )(kubectl|atoll) (-n |--|[a-z]+ )`)
	labs   = regexp.MustCompile(`atoll lab |--help|# BEGIN|export KUBECONFIG=`)
	// blank matches a placeholder that the reader must replace. Otherwise the command fails.
	blank = regexp.MustCompile(`\b[A-Z]{2,}\b`)
)

// Package command must build every command in a message, because it names the cluster. The
// command must exist.
func TestCommandsInMessages(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c, _ := read(t)
	commands := 0
	for _, folder := range []string{"internal", "hub", "plugin", "cloudprovider", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			for _, wrong := range messages(file, func(line string) error {
				commands++
				words, err := pages.Commands(line)
				if err != nil || len(words) != 1 {
					return fmt.Errorf("this is not one command: %w", err)
				}
				_, err = c.check(words[0])
				return err
			}) {
				t.Errorf("%s: %v", set.Position(wrong.at), wrong.err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if commands < 50 {
		t.Errorf("only %d commands", commands)
	}
}

type mistake struct {
	at  token.Pos
	err error
}

// messages calls check for each command in a file. It returns failed checks, and commands that
// are written as plain text.
func messages(file *ast.File, check func(line string) error) (wrong []mistake) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			selector, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || selector.Sel.Name != "Atoll" && selector.Sel.Name != "Kubectl" || len(n.Args) == 0 {
				return true
			}
			format, ok := n.Args[0].(*ast.BasicLit)
			if !ok {
				wrong = append(wrong, mistake{n.Pos(), fmt.Errorf("the command is not a literal, so that nothing can check it")})
				return true
			}
			text, _ := strconv.Unquote(format.Value)
			line := strings.ToLower(selector.Sel.Name) + " " + blank.ReplaceAllString(verb.ReplaceAllString(strings.ReplaceAll(text, "cidr RANGE", "cidr 10.0.0.0/8"), "x"), "x") + " --context x"
			if err := check(line); err != nil {
				wrong = append(wrong, mistake{n.Pos(), fmt.Errorf("%s: %w", line, err)})
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Long" || key.Name == "Example" || key.Name == "Short") {
				return false
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && advice.MatchString(text) && !labs.MatchString(text) {
				wrong = append(wrong, mistake{n.Pos(), fmt.Errorf("a command that does not name its cluster (internal/mcs/command): %q", text)})
			}
		}
		return true
	})
	return wrong
}

// TestCommandsInMessages can fail.
func TestWrongCommandsInMessages(t *testing.T) {
	for _, text := range []string{`"install it: atoll join FILE"`, `"kubectl -n atoll-system get pods"`, `on.Atoll(format)`, `on.Atoll("no such")`, `on.Kubectl("get nothing")`} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package x\nvar y = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := messages(file, func(string) error { return fmt.Errorf("no") }); len(wrong) != 1 {
			t.Errorf("%s: %v", text, wrong)
		}
	}
}
