package arch

import (
	"fmt"
	"go/ast"
	"go/doc"
	"strings"
)

// packagesPage is docs/contributing/packages.md: all packages, each with the first sentence of its comment.
func packagesPage(packages []Package) string {
	var page strings.Builder
	page.WriteString(`# Packages

This page lists the first sentence of each package's comment; ` + "`go doc ./PACKAGE`" + ` shows the rest.
[architecture.md](../explanation/architecture.md) explains how packages work together, and
` + "`test/arch/imports.go`" + ` lists the allowed imports.

` + "`go test ./test/arch -run TestPackagesPage -update`" + ` writes this page.

| Package | What it is for |
|---|---|
`)
	for _, p := range packages {
		fmt.Fprintf(&page, "| `%s` | %s |\n", p.Path, purpose(p))
	}
	return page.String()
}

// purpose is the first sentence of a package's comment, without the package's name.
func purpose(p Package) string {
	text := comment(p, func(f File) bool { return !f.Test })
	if text == "" {
		text = comment(p, func(f File) bool { return f.Test })
	}
	sentence := new(doc.Package).Synopsis(text)
	for _, kind := range []string{"Package ", "Command "} {
		if rest, ok := strings.CutPrefix(sentence, kind); ok {
			_, sentence, _ = strings.Cut(rest, " ")
		}
	}
	return strings.ReplaceAll(sentence, "|", "\\|")
}

// comment returns the package comment of the first matching file that has one.
func comment(p Package, of func(File) bool) string {
	for _, f := range p.Files {
		if f.Syntax.Doc != nil && of(f) && !ast.IsGenerated(f.Syntax) {
			return f.Syntax.Doc.Text()
		}
	}
	return ""
}
