package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const messagesIntro = `# Messages

The texts of conditions, Events, logs, checks and errors, from the code of Atoll's programs. ` + "`…`" + ` stands for a name, a number or another
message.
`

// rooms are the sections of the page: whose messages, and the folders that have them.
var rooms = []struct {
	title   string
	folders []string
}{
	{"atoll-agent", []string{"internal/agent", "internal/mcs", "internal/broker", "internal/kit"}},
	{"atoll-hub", []string{"internal/hub", "cloudprovider"}},
	{"atoll: status, explain, check", []string{"internal/doctor"}},
	{"atoll: installation", []string{"internal/install", "internal/cli"}},
}

// messagesPage is the reference of the messages.
func messagesPage(root string) (string, error) {
	var b strings.Builder
	b.WriteString(messagesIntro)
	for _, room := range rooms {
		fmt.Fprintf(&b, "\n## %s\n\n", room.title)
		seen := map[string]bool{}
		for _, folder := range room.folders {
			err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
				if err == nil && entry.Name() == "conformance" {
					return filepath.SkipDir // tests
				}
				if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				for _, text := range sentences(file) {
					if !seen[text] && len(word.FindAllString(text, 2)) == 2 {
						seen[text] = true
						fmt.Fprintf(&b, "- %s\n", text)
					}
				}
				return nil
			})
			if err != nil {
				return "", err
			}
		}
	}
	return b.String(), nil
}

var (
	verb     = regexp.MustCompile(`%(\[\d+\])?[+#]?(\.\d+)?[a-z]`)
	word     = regexp.MustCompile(`[A-Za-z]{2,}`)
	sentence = regexp.MustCompile(`^([A-Z…]|cluster |the |this |there )\S*( \S+){3,}`)
)

// sentences are the messages of a file: its string literals that are sentences, apart from help texts.
func sentences(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Long" || key.Name == "Example" || key.Name == "Short" || strings.HasSuffix(key.Name, "Expression")) {
				return false
			}
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(called.Sel.Name, "Var") || ok && strings.HasSuffix(called.Sel.Name, "VarP") {
				return false // a flag's help
			}
		case ast.Expr:
			if text, ok := folded(n); ok {
				if text = verb.ReplaceAllString(strings.Join(strings.Fields(text), " "), "…"); sentence.MatchString(text) {
					found = append(found, strings.NewReplacer("<", `\<`, "*", `\*`, "|", `\|`, "[", `\[`).Replace(text))
				}
				return false
			}
		}
		return true
	})
	return found
}

// folded is the text of a literal, or of several with plus between them; what else is among them is "…".
func folded(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, okLeft := folded(e.X)
		right, okRight := folded(e.Y)
		if !okLeft && !okRight {
			return "", false
		}
		if !okLeft {
			left = "…"
		}
		if !okRight {
			right = "…"
		}
		return left + right, true
	case *ast.ParenExpr:
		return folded(e.X)
	}
	return "", false
}
