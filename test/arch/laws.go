package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

const (
	maxFileLines     = 500 // of handwritten code; the aim is 120 to 300
	maxFunctionLines = 100 // the aim is 10 to 50
	maxCommandLines  = 60  // of a whole main package
)

// badFolders are names that do not describe the content of a folder.
var badFolders = []string{"pkg", "util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}

// sleepsAllowed lists the files that may sleep in a test, with the reason.
var sleepsAllowed = map[string]string{
	"lab/process/process_test.go":   "polls the output of another process until a deadline",
	"test/simulation/roles_test.go": "members that flap at a rate, and windows in which nothing may change",
}

// folderNames finds folders with a meaningless name.
func folderNames(packages []Package) (broken []string) {
	for _, p := range packages {
		for element := range strings.SplitSeq(p.Path, "/") {
			if slices.Contains(badFolders, element) {
				broken = append(broken, fmt.Sprintf("%s: the name %q does not describe the content", p.Path, element))
			}
		}
	}
	return broken
}

// packageDocs finds packages without a package comment.
func packageDocs(packages []Package) (broken []string) {
	for _, p := range packages {
		if !slices.ContainsFunc(p.Files, func(f File) bool { return !f.Test && documented(p, f.Syntax.Doc) }) &&
			slices.ContainsFunc(p.Files, func(f File) bool { return !f.Test }) {
			broken = append(broken, fmt.Sprintf("%s: the package has no comment that states its purpose", p.Path))
		}
	}
	return broken
}

// documented requires godoc's form. The comment of a command is free.
func documented(p Package, doc *ast.CommentGroup) bool {
	text := doc.Text()
	return text != "" && (p.Name == "main" || strings.HasPrefix(text, "Package "+p.Name+" "))
}

// fileLengths finds files that are too long.
func fileLengths(packages []Package) (broken []string) {
	for _, p := range packages {
		for _, f := range p.Files {
			if !f.Test && !f.Generated && f.Lines > maxFileLines {
				broken = append(broken, fmt.Sprintf("%s: %d lines, at most %d", f.Path, f.Lines, maxFileLines))
			}
		}
	}
	return broken
}

// functionLengths finds functions that are too long.
func functionLengths(packages []Package) (broken []string) {
	for _, p := range packages {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			for _, declaration := range f.Syntax.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				lines := f.Set.Position(function.End()).Line - f.Set.Position(function.Pos()).Line + 1
				if lines > maxFunctionLines {
					broken = append(broken, fmt.Sprintf("%s: %s has %d lines, at most %d", f.At(function), function.Name.Name, lines, maxFunctionLines))
				}
			}
		}
	}
	return broken
}

// commandLengths finds commands that contain logic.
func commandLengths(packages []Package) (broken []string) {
	for _, p := range packages {
		if path.Dir(p.Path) != "cmd" {
			continue
		}
		lines := 0
		for _, f := range p.Files {
			if !f.Test {
				lines += f.Lines
			}
		}
		if lines > maxCommandLines {
			broken = append(broken, fmt.Sprintf("%s: %d lines, at most %d: a command only starts its package", p.Path, lines, maxCommandLines))
		}
	}
	return broken
}

// sleeps finds tests and controllers that sleep. A test must wait for a condition, with a watch
// or by polling until a deadline, or use testing/synctest, in which time passes at once. A
// controller must request another reconcile.
func sleeps(allowed map[string]string, packages []Package) (broken []string) {
	for _, p := range packages {
		for _, f := range p.Files {
			if !f.Test && !below(p.Path, "test") && !below(p.Path, "internal/agent") && !below(p.Path, "internal/hub") || allowed[f.Path] != "" {
				continue
			}
			ast.Inspect(f.Syntax, func(node ast.Node) bool {
				selector, ok := node.(*ast.SelectorExpr)
				if !ok || selector.Sel.Name != "Sleep" {
					return true
				}
				if from, ok := selector.X.(*ast.Ident); ok && from.Name == "time" {
					broken = append(broken, fmt.Sprintf("%s: sleeps; wait for what should happen instead", f.At(node)))
				}
				return true
			})
		}
	}
	return broken
}
