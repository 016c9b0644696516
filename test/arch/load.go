// Package arch tests the architecture of this repository: allowed imports, lengths of files,
// required documentation. A law is a function from parsed packages to the violations. Each law
// has a test that proves that the law can fail.
package arch

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Package is the Go code of a folder.
type Package struct {
	Path  string // the folder below the repository's root, with slashes; "." is the root
	Name  string // the package's name without _test
	Files []File // sorted by name
}

// File is a parsed Go file.
type File struct {
	Path      string // below the repository's root
	Lines     int
	Test      bool // *_test.go
	Generated bool // has the standard comment of generated code
	Syntax    *ast.File
	Set       *token.FileSet
}

// At gives the place of a node as file:line.
func (f File) At(node ast.Node) string {
	return fmt.Sprintf("%s:%d", f.Path, f.Set.Position(node.Pos()).Line)
}

func (f File) Imports() []string {
	var paths []string
	for _, spec := range f.Syntax.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// Load parses all Go code below the root, including nested modules. It skips the folders that
// the go command skips (testdata, hidden folders) and build outputs.
func Load(root string) ([]Package, error) {
	packages := map[string]*Package{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if relative != "." && left(relative) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(relative, ".go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return add(packages, relative, source)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the repository: %w", err)
	}
	return sorted(packages), nil
}

// left reports folders without code of the repository.
func left(folder string) bool {
	base := path.Base(folder)
	return base == "testdata" || base == "vendor" || folder == "bin" || folder == "dist" ||
		strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// add parses a file and adds it to its package.
func add(packages map[string]*Package, name string, source []byte) error {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := path.Dir(name)
	p := packages[folder]
	if p == nil {
		p = &Package{Path: folder}
		packages[folder] = p
	}
	p.Name = strings.TrimSuffix(syntax.Name.Name, "_test")
	p.Files = append(p.Files, File{
		Path: name, Lines: bytes.Count(source, []byte("\n")), Test: strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(syntax), Syntax: syntax, Set: set,
	})
	return nil
}

func sorted(packages map[string]*Package) []Package {
	var list []Package
	for _, p := range packages {
		slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Module reads the module's path from the root's go.mod.
func Module(root string) (string, error) {
	file, err := os.Open(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if module, ok := strings.CutPrefix(lines.Text(), "module "); ok {
			return strings.TrimSpace(module), nil
		}
	}
	return "", fmt.Errorf("%s names no module", file.Name())
}
