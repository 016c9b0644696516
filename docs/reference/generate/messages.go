package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const messagesIntro = `# Messages

These tables explain the reasons of Atoll's Events and conditions, by object. The message of an Event or condition names the clusters,
addresses and commands of your case.

| To see | Run |
|---|---|
| the conditions and Events of a ServiceExport | ` + "`kubectl --context c1 -n shop describe serviceexport web`" + ` |
| the conditions and Events of a ServiceImport | ` + "`kubectl --context c1 -n shop describe serviceimport web`" + ` |
| Events about the agent | ` + "`kubectl --context c1 -n atoll-system describe deployment atoll-agent`" + ` |
| all problems of a cluster, or of a service | ` + "`atoll status --context c1`, `atoll explain shop/web --context c1`" + ` |

API servers keep Events for an hour by default. [Checks](checks.md) lists the messages of ` + "`atoll check`" + `. [Which endpoint
answers](../explanation/which-endpoint-answers.md) explains why endpoints are on standby.
`

// A row documents reasons that an object has. Rows with several reasons have the same remedy.
type row struct {
	reasons []string
	in      string // the condition, "Event", or both
	meaning string
	remedy  string // "" for none
}

// messagesPage is the reference of the reasons of Events and conditions. It fails if the code has other reasons than the rows.
func messagesPage(root string) (string, error) {
	found, err := reasonsOf(root)
	if err != nil {
		return "", err
	}
	if err := compare(found, objects); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(messagesIntro)
	for _, o := range objects {
		fmt.Fprintf(&b, "\n## %s\n\n", o.title)
		if o.intro != "" {
			fmt.Fprintf(&b, "%s\n\n", o.intro)
		}
		b.WriteString("| Reason | In | Meaning | What to do |\n|---|---|---|---|\n")
		for _, r := range o.rows {
			remedy := r.remedy
			if remedy == "" {
				remedy = "nothing"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.Join(r.reasons, "`, `"), r.in, r.meaning, remedy)
		}
	}
	return b.String(), nil
}

// compare returns an error that names the reasons of the code without a row, and the rows without such a reason.
func compare(found map[string]string, objects []object) error {
	var wrong []string
	documented := map[string]bool{}
	for _, o := range objects {
		for _, r := range o.rows {
			for _, reason := range r.reasons {
				documented[reason] = true
				if found[reason] == "" {
					wrong = append(wrong, reason+" is not in the code")
				}
			}
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(found)) {
		if !documented[reason] {
			wrong = append(wrong, fmt.Sprintf("%s (%s) is missing", reason, found[reason]))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("docs/reference/generate/reasons.go: %s", strings.Join(wrong, "; "))
	}
	return nil
}

var (
	// sources are the folders whose code writes Events and conditions.
	sources = []string{"api", "cloudprovider", "internal/agent", "internal/hub", "internal/kit", "internal/mcs"}
	// notSources have reasons that are in no Event or condition: those of endpoints' roles, and those of tests.
	notSources = []string{"internal/mcs/choice", "cloudprovider/conformance"}
	// notShown are constants that no Event or condition has.
	notShown = []string{"TooManyExports"}
)

// reasonsOf returns the reasons of Events and conditions in the code, each with a file that has it.
func reasonsOf(root string) (map[string]string, error) {
	found := map[string]string{}
	for _, folder := range sources {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if name = filepath.ToSlash(name); slices.Contains(notSources, name) {
				return filepath.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, reason := range reasonsIn(file) {
				found[reason] = name
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading the reasons: %w", err)
		}
	}
	for _, reason := range notShown {
		if found[reason] == "" {
			return nil, fmt.Errorf("the code has no reason %s", reason)
		}
		delete(found, reason)
	}
	return found, nil
}

var (
	camelCase = regexp.MustCompile(`^[A-Z][a-z]+([A-Z]+[a-z]*)*$`)
	isReason  = regexp.MustCompile(`^[rR]eason([A-Z]|$)`)
	// upstream matches mcs-api's constants. Their values are the ends of their names.
	upstream = regexp.MustCompile(`^Service(?:Ex|Im)portReason([A-Z]\w*)$`)
)

// positions are the arguments that are reasons, of the functions that write Events.
var positions = map[string]int{"Say": 4, "SayOf": 5, "warn": 1}

// reasonsIn returns the reasons in a file: constants and variables with such a name or type, fields Reason, arguments of functions that
// write Events, and texts that are returned after a condition's status.
func reasonsIn(file *ast.File) (found []string) {
	add := func(e ast.Expr) {
		if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && camelCase.MatchString(text) {
				found = append(found, text)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				if isReason.MatchString(n.Names[i].Name) || strings.HasSuffix(nameOf(n.Type), "Reason") {
					add(value)
				}
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if i < len(n.Lhs) && isReason.MatchString(nameOf(n.Lhs[i])) {
					add(value)
				}
			}
		case *ast.KeyValueExpr:
			if isReason.MatchString(nameOf(n.Key)) {
				add(n.Value)
			}
		case *ast.CallExpr:
			if at, ok := positions[nameOf(n.Fun)]; ok && at < len(n.Args) {
				add(n.Args[at])
			}
		case *ast.ReturnStmt:
			if len(n.Results) > 1 && strings.HasPrefix(nameOf(n.Results[0]), "Condition") {
				add(n.Results[1])
			}
		case *ast.SelectorExpr:
			if m := upstream.FindStringSubmatch(n.Sel.Name); m != nil {
				found = append(found, m[1])
			}
		}
		return true
	})
	return found
}

// nameOf returns the name of an identifier, also of one in another package or of a field; "" for other expressions.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
