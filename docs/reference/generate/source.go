package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A source is a Go package as it is written.
type source struct {
	types  map[string]*ast.TypeSpec
	docs   map[string]comment  // of types
	consts []constant          // in the order of the files and in them
	values map[string][]string // of constants of a type, by its name, as they stand on the wire
}

// A constant is one that is a text.
type constant struct {
	name, value string
	comment     comment
}

// A comment is what stands above a declaration: text for people, and markers for generators.
type comment struct {
	text    string
	markers []string
}

// read parses a package of the repository in the folder root, without its tests and generated files.
func read(root, folder string) (*source, error) {
	s := &source{types: map[string]*ast.TypeSpec{}, docs: map[string]comment{}, values: map[string][]string{}}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", folder, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.Base(file), "zz_") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", folder, err)
		}
		for _, declaration := range syntax.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				s.add(general)
			}
		}
	}
	if len(s.types)+len(s.consts) == 0 {
		return nil, fmt.Errorf("%s defines nothing", folder)
	}
	return s, nil
}

func (s *source) add(declaration *ast.GenDecl) {
	for _, spec := range declaration.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.types[spec.Name.Name] = spec
			s.docs[spec.Name.Name] = commentOf(spec.Doc, declaration.Doc)
		case *ast.ValueSpec:
			if declaration.Tok == token.CONST {
				s.addConstants(spec, declaration.Doc)
			}
		}
	}
}

// addConstants remembers constants that are texts; those that are made of others, too.
func (s *source) addConstants(spec *ast.ValueSpec, above *ast.CommentGroup) {
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			continue
		}
		value, ok := s.text(spec.Values[i])
		if !ok {
			continue
		}
		c := constant{name: name.Name, value: value, comment: commentOf(spec.Doc, above)}
		if of, ok := spec.Type.(*ast.Ident); ok {
			s.values[of.Name] = append(s.values[of.Name], value)
		}
		s.consts = append(s.consts, c)
	}
}

func (s *source) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		i := slices.IndexFunc(s.consts, func(c constant) bool { return c.name == e.Name })
		if i < 0 {
			return "", false
		}
		return s.consts[i].value, true
	case *ast.BinaryExpr:
		left, ok := s.text(e.X)
		right, too := s.text(e.Y)
		return left + right, ok && too
	}
	return "", false
}

// commentOf reads the first of the groups that there is.
func commentOf(groups ...*ast.CommentGroup) comment {
	var c comment
	for _, group := range groups {
		if group == nil {
			continue
		}
		var lines []string
		for line := range strings.Lines(group.Text()) {
			// go/ast leaves out directives, and a marker is none for it.
			if marker, ok := strings.CutPrefix(strings.TrimSpace(line), "+"); ok {
				c.markers = append(c.markers, marker)
				continue
			}
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
		c.text = strings.TrimSpace(strings.Join(lines, "\n"))
		return c
	}
	return c
}

// marker returns what stands behind a marker's name, and whether it is there.
func (c comment) marker(name string) (string, bool) {
	for _, m := range c.markers {
		if m == name {
			return "", true
		}
		for _, separator := range []string{"=", ":"} {
			if value, ok := strings.CutPrefix(m, name+separator); ok {
				return value, true
			}
		}
	}
	return "", false
}
