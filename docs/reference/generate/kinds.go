package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// groups are the packages with kinds, in the order in which a reader wants them.
var groups = []struct{ folder, version, where string }{
	{"api/networking/v1alpha1", "networking.karmada.io/v1alpha1", "On the broker's API server, written by users: [MultiClusterService](../how-to/multiclusterservice.md)."},
	{"api/traffic/v1alpha1", "traffic.atoll.dev/v1alpha1", "In each member, written by users: [order and weights of clusters](../how-to/prefer.md)."},
	{"api/broker/v1alpha1", "broker.atoll.dev/v1alpha1", "On the broker, written only by agents and the hub: [Architecture](../explanation/architecture.md)."},
	{"api/about/v1beta1", "about.k8s.io/v1beta1", "In each member, written by `atoll join`: [KEP-2149](https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/2149-clusterid)."},
}

const kindsIntro = `# Kinds

These are Atoll's own kinds. ServiceExport and ServiceImport belong to the [Multi-Cluster Services
API](https://github.com/kubernetes-sigs/mcs-api), versions ` + "`v1beta1` and `v1alpha1`" + `; [Rules](rules.md) describes how Atoll uses their
fields. See also [labels and annotations](labels.md).

Fields are required unless marked *optional*. Types without a link are those of Kubernetes.
`

// kindsPage is the reference of all kinds.
func kindsPage(root string) (string, error) {
	var b strings.Builder
	b.WriteString(kindsIntro)
	for _, g := range groups {
		s, err := read(root, g.folder)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", g.version, g.where)
		written := map[string]bool{}
		for _, kind := range s.kinds() {
			if err := s.writeType(&b, kind, written); err != nil {
				return "", fmt.Errorf("%s: %w", g.folder, err)
			}
		}
	}
	return b.String(), nil
}

// kinds are the types that are objects, but for lists of them, by name.
func (s *source) kinds() []string {
	var kinds []string
	for name := range s.types {
		if _, root := s.docs[name].marker("kubebuilder:object:root"); root && !strings.HasSuffix(name, "List") {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// writeType writes a structure, and then those that its fields are of.
func (s *source) writeType(b *strings.Builder, name string, written map[string]bool) error {
	structure, ok := s.types[name].Type.(*ast.StructType)
	if !ok || written[name] {
		return nil
	}
	written[name] = true
	c := s.docs[name]
	fmt.Fprintf(b, "\n### %s\n\n%s\n", name, flow(c.text))
	s.writeResource(b, c)
	writeRules(b, c)
	fmt.Fprint(b, "\n| Field | Type | |\n|---|---|---|\n")
	var next []string
	for _, field := range structure.Fields.List {
		key, ok := fieldName(field)
		if !ok {
			continue
		}
		of := typeOf(field.Type)
		c := commentOf(field.Doc)
		if c.text == "" && key != "metadata" && key != "spec" {
			return fmt.Errorf("%s.%s has no comment", name, key)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", key, s.link(of), s.describe(field, c, of, key))
		if _, ours := s.types[of.name]; ours {
			next = append(next, of.name)
		}
	}
	for _, n := range next {
		if err := s.writeType(b, n, written); err != nil {
			return err
		}
	}
	return nil
}

// writeResource says how kubectl knows a kind.
func (s *source) writeResource(b *strings.Builder, c comment) {
	resource, ok := c.marker("kubebuilder:resource")
	if !ok {
		return
	}
	var said []string
	for part := range strings.SplitSeq(resource, ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "scope":
			said = append(said, map[string]string{"Namespaced": "in a namespace", "Cluster": "of the whole cluster"}[value])
		case "shortName":
			said = append(said, fmt.Sprintf("`kubectl get %s`", value))
		}
	}
	fmt.Fprintf(b, "\n*%s*\n", strings.Join(said, ", "))
}

// writeRules lists what the API server checks of a whole structure.
func writeRules(b *strings.Builder, c comment) {
	first := true
	for _, m := range c.markers {
		rule, ok := strings.CutPrefix(m, "kubebuilder:validation:XValidation:")
		if !ok {
			continue
		}
		if first {
			fmt.Fprint(b, "\nRefused:\n\n")
			first = false
		}
		fmt.Fprintf(b, "- %s\n", message(rule))
	}
}

// message is what the API server says where a rule does not hold.
func message(rule string) string {
	if _, text, ok := strings.Cut(rule, `,message="`); ok {
		return strings.TrimSuffix(text, `"`)
	}
	if _, text, ok := strings.Cut(rule, `messageExpression="`); ok {
		return "`" + strings.TrimSuffix(text, `"`) + "`"
	}
	return "`" + rule + "`"
}

// fieldName is a field's name on the wire; inlined ones have none.
func fieldName(field *ast.Field) (string, bool) {
	if field.Tag == nil {
		return "", false
	}
	_, tag, ok := strings.Cut(field.Tag.Value, `json:"`)
	if !ok {
		return "", false
	}
	tag, _, _ = strings.Cut(tag, `"`)
	name, _, _ := strings.Cut(tag, ",")
	return name, name != "" && name != "-"
}

// describe is a field's last column: what it means, and what may be in it.
func (s *source) describe(field *ast.Field, c comment, of fieldType, key string) string {
	text := flow(c.text)
	if len(field.Names) > 0 {
		text = withoutName(text, field.Names[0].Name)
	}
	if text == "" && key == "metadata" {
		text = "The object's metadata."
	}
	if text == "" {
		text = "The content."
	}
	var notes []string
	if _, optional := c.marker("optional"); optional {
		notes = append(notes, "*optional*")
	}
	if values := s.values[of.name]; len(values) > 0 {
		notes = append(notes, "`"+strings.Join(values, "`, `")+"`")
	} else if values, ok := c.marker("kubebuilder:validation:Enum"); ok {
		notes = append(notes, "`"+strings.Join(strings.Split(values, ";"), "`, `")+"`")
	}
	for _, limit := range []struct{ marker, text string }{
		{"kubebuilder:default", "default `%s`"},
		{"kubebuilder:validation:Minimum", "at least %s"}, {"kubebuilder:validation:Maximum", "at most %s"},
		{"kubebuilder:validation:MinLength", "at least %s character"}, {"kubebuilder:validation:MaxLength", "at most %s characters"},
		{"kubebuilder:validation:MinItems", "at least %s"}, {"kubebuilder:validation:MaxItems", "at most %s"},
	} {
		if value, ok := c.marker(limit.marker); ok {
			notes = append(notes, fmt.Sprintf(limit.text, value))
		}
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, "; ") + ")"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// withoutName leaves out the Go name with which a comment begins, and "is".
func withoutName(text, name string) string {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok || rest == "" {
		return text
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// A fieldType is a type as far as a reader wants to know it.
type fieldType struct {
	name   string // without what is around it
	prefix string
}

func typeOf(e ast.Expr) fieldType {
	switch e := e.(type) {
	case *ast.Ident:
		return fieldType{name: e.Name}
	case *ast.StarExpr:
		return typeOf(e.X)
	case *ast.SelectorExpr:
		return fieldType{name: e.Sel.Name}
	case *ast.ArrayType:
		of := typeOf(e.Elt)
		return fieldType{name: of.name, prefix: "list of " + of.prefix}
	case *ast.MapType:
		return fieldType{name: "string", prefix: "map of string to "}
	}
	return fieldType{name: "?"}
}

// link is a type with a link to where it is described.
func (s *source) link(of fieldType) string {
	if spec, ours := s.types[of.name]; ours {
		if _, structure := spec.Type.(*ast.StructType); structure {
			return fmt.Sprintf("%s[%s](#%s)", of.prefix, of.name, strings.ToLower(of.name))
		}
	}
	return of.prefix + of.name
}

// flow puts the lines of each paragraph together.
func flow(text string) string {
	var paragraphs []string
	for p := range strings.SplitSeq(text, "\n\n") {
		paragraphs = append(paragraphs, strings.Join(strings.Fields(p), " "))
	}
	return strings.Join(paragraphs, "\n\n")
}
