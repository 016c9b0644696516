package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The generated pages are current and have the expected content.
func TestCurrent(t *testing.T) {
	pages, err := generated("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		have, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || string(have) != want {
			t.Errorf("docs/reference/%s is not current (%v): make generate", name, err)
		}
	}
	for _, want := range []string{
		"### MultiClusterService\n", "### MemberCluster\n", "### ClusterProperty\n", "| `types` | list of ExposureType |", "`CrossCluster`, `LoadBalancer`",
		"| `range` | [ExposureRange](#exposurerange) |", "- range and consumerClusters have the same meaning", "*in a namespace, `kubectl get mcs`*", "default `pods`", "(*optional*",
	} {
		if !strings.Contains(pages["api.md"], want) {
			t.Errorf("api.md has no %q", want)
		}
	}
	for _, want := range []string{"| `multicluster.kubernetes.io/source-cluster` | The id of the cluster", "| `lb.atoll.dev/provider` |", "| `atoll.dev/managed-by` | Set on", "| `ServiceFound` |"} {
		if !strings.Contains(pages["labels.md"], want) {
			t.Errorf("labels.md has no %q", want)
		}
	}
	for name, page := range pages {
		for _, wrong := range []string{"kubebuilder", "+optional", "| ? |"} {
			if strings.Contains(page, wrong) {
				t.Errorf("%s has %q", name, wrong)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	var stdout, stderr strings.Builder
	if status := run([]string{"--help"}, &stdout, &stderr); status != 0 || stdout.String() != usage {
		t.Errorf("--help: %d %q", status, stdout.String())
	}
	if status := run([]string{"x"}, &stdout, &stderr); status != 64 || stderr.String() != usage {
		t.Errorf("x: %d %q", status, stderr.String())
	}
}

// The generator reports a type without comments.
func TestUndocumentedField(t *testing.T) {
	folder := t.TempDir()
	text := "package p\n\n// Thing is one.\n//\n// +kubebuilder:object:root=true\ntype Thing struct {\n\tName string `json:\"name\"`\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "a.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := read("", folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writeType(&strings.Builder{}, "Thing", map[string]bool{}); err == nil || !strings.Contains(err.Error(), "Thing.name has no comment") {
		t.Errorf("got %v", err)
	}
}

// The reference of messages has every reason of the code, and no other.
func TestReasons(t *testing.T) {
	found, err := reasonsOf("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 80 {
		t.Errorf("only %d reasons", len(found))
	}
	if err := compare(found, objects); err != nil {
		t.Error(err)
	}
	if err := compare(map[string]string{"Known": "a.go", "New": "b.go"}, []object{{rows: []row{{reasons: []string{"Known", "Gone"}}}}}); err == nil ||
		err.Error() != "docs/reference/generate/reasons.go: Gone is not in the code; New (b.go) is missing" {
		t.Errorf("got %v", err)
	}
}

// reasonsIn finds the reasons of each form.
func TestReasonsIn(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p
const reasonA, other = "ConstA", "NotOne"
const b Reason = "ConstB"
func f() (status, string) {
	reason := "Local"
	c.Reason, c.Message = "Field", "Text"
	_ = Condition{Reason: "Key", Type: "Type"}
	status.Say(r, about, nil, warning, "Said", "Import", "Text")
	m.warn(ctx, "Warned", "Import", text)
	g(mcsv1beta1.ServiceExportReasonUpstream)
	return metav1.ConditionFalse, "Returned"
}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if have, want := reasonsIn(file), strings.Fields("ConstA ConstB Local Field Key Said Warned Upstream Returned"); !slices.Equal(have, want) {
		t.Errorf("%q", have)
	}
}

var (
	// unclear matches words and phrases that WRITING forbids.
	unclear = regexp.MustCompile(`\b(anew|taken? away|tried again|none of its|by way of|that which|no more of|any more|can't|isn't|doesn't|is there already|all the same)\b`)
	inner   = regexp.MustCompile(`[.:;?] `)
)

const maxWords = 30 // of a sentence

// Messages of Events, conditions, logs, checks and errors have short sentences and standard terms.
func TestMessagesArePlain(t *testing.T) {
	seen := map[string]bool{}
	for _, folder := range []string{"internal/agent", "internal/mcs", "internal/broker", "internal/kit", "internal/hub", "cloudprovider", "internal/doctor", "internal/install", "internal/cli"} {
		err := filepath.WalkDir(filepath.Join("../../..", folder), func(path string, entry os.DirEntry, err error) error {
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
				seen[text] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d messages", len(seen))
	}
	for _, o := range objects {
		for _, r := range o.rows {
			seen[r.meaning], seen[r.remedy] = true, true
		}
	}
	for text := range seen {
		if word := unclear.FindString(text); word != "" {
			t.Errorf("message %q contains the unclear phrase %q", text, word)
		}
		for _, s := range inner.Split(text, -1) {
			if words := len(strings.Fields(s)); words > maxWords {
				t.Errorf("%q: a sentence of %d words", text, words)
			}
		}
	}
}

var (
	verb     = regexp.MustCompile(`%(\[\d+\])?[+#]?(\.\d+)?[a-z]`)
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
					found = append(found, text)
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
