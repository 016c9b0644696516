package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// public lists the folders with an API for other projects. Every exported name must be
// documented, except in internal folders.
var public = []string{"api", "cloudprovider", "hub", "lab", "plugin"}

// isPublic reports whether other projects can import the package.
func isPublic(p Package) bool {
	return p.Name != "main" && !slices.Contains(strings.Split(p.Path, "/"), "internal") &&
		slices.ContainsFunc(public, func(folder string) bool { return below(p.Path, folder) })
}

// undocumented finds exported names without a comment in public folders. In api it also checks
// the fields of structs, because the CRDs' descriptions come from their comments.
func undocumented(packages []Package) (broken []string) {
	for _, p := range packages {
		if !isPublic(p) {
			continue
		}
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			for _, declaration := range f.Syntax.Decls {
				for _, name := range bare(declaration, below(p.Path, "api")) {
					broken = append(broken, fmt.Sprintf("%s: %s has no comment", f.At(name), name.Name))
				}
			}
		}
	}
	return broken
}

// bare returns the exported names of a declaration without a comment.
func bare(declaration ast.Decl, fields bool) []*ast.Ident {
	switch declaration := declaration.(type) {
	case *ast.FuncDecl:
		if declaration.Name.IsExported() && declaration.Doc == nil && exportedReceiver(declaration) {
			return []*ast.Ident{declaration.Name}
		}
	case *ast.GenDecl:
		if declaration.Tok == token.IMPORT {
			return nil
		}
		var names []*ast.Ident
		for _, spec := range declaration.Specs {
			names = append(names, bareSpec(spec, declaration.Doc != nil, fields)...)
		}
		return names
	}
	return nil
}

// exportedReceiver reports whether other packages can call a method.
func exportedReceiver(function *ast.FuncDecl) bool {
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return true
	}
	kind := function.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	name, ok := kind.(*ast.Ident)
	return !ok || name.IsExported()
}

// bareSpec does this for one part of a declaration. A comment on a group of constants or
// variables counts for all of them.
func bareSpec(spec ast.Spec, group, fields bool) (names []*ast.Ident) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		if spec.Doc == nil && !group {
			names = append(names, spec.Name)
		}
		if structure, ok := spec.Type.(*ast.StructType); ok && fields {
			names = append(names, bareFields(structure)...)
		}
	case *ast.ValueSpec:
		if spec.Doc != nil || spec.Comment != nil || group {
			return nil
		}
		for _, name := range spec.Names {
			if name.IsExported() {
				names = append(names, name)
			}
		}
	}
	return names
}

// usualFields have the same meaning in every Kubernetes kind.
var usualFields = []string{"Spec", "Status", "Items"}

func bareFields(structure *ast.StructType) (names []*ast.Ident) {
	for _, field := range structure.Fields.List {
		if field.Doc != nil || field.Comment != nil {
			continue
		}
		for _, name := range field.Names { // embedded fields have no names
			if name.IsExported() && !slices.Contains(usualFields, name.Name) {
				names = append(names, name)
			}
		}
	}
	return names
}
