package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// rows holds the table rows that cite a test, by the heading above.
type rows map[string][]string

func parseRows(text string) rows {
	all := rows{}
	heading := ""
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(title)
		}
		if strings.HasPrefix(line, "|") && (citedTest.MatchString(line) || citedScenario.MatchString(line)) {
			all[heading] = append(all[heading], line)
		}
	}
	return all
}

// has reports whether a row below a heading contains a word in a column.
func (r rows) has(word, heading string, column int) bool {
	return slices.ContainsFunc(r[heading], func(row string) bool {
		return slices.Contains(strings.FieldsFunc(strings.Split(row, "|")[column], func(c rune) bool { return !unicode.IsLetter(c) }), word)
	})
}

// subject reports whether a row below the heading is about a thing, alone or among others.
func (r rows) subject(thing, heading string) bool {
	return slices.ContainsFunc(r[heading], func(row string) bool {
		return slices.Contains(strings.Split(strings.TrimSpace(strings.Split(row, "|")[1]), ", "), thing)
	})
}

// TestRulesAreComplete checks that docs/reference/rules.md covers, with a test, every reason of
// conditions in the Multi-Cluster Services API and every merged property.
func TestRulesAreComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := parseRows(string(text))
	// The column with the reasons, by table.
	for kind, columns := range map[string]map[string]int{
		"ServiceExportConditionReason": {"Conditions of a ServiceExport": 2, "Merge": 3},
		"ServiceImportConditionReason": {"Conditions of a ServiceImport": 2},
	} {
		reasons := constantsOf(t, kind)
		if len(reasons) < 3 {
			t.Errorf("only %v are found of type %s", reasons, kind)
		}
		for _, reason := range reasons {
			found := false
			for heading, column := range columns {
				found = found || table.has(reason, heading, column)
			}
			if !found {
				t.Errorf("reason %s of %s has no row with a test", reason, kind)
			}
		}
	}
	notMerged := []string{"ClusterID", "ServiceNamespace", "ServiceName", "ExportedAt"} // these fields identify the export
	record := reflect.TypeFor[brokerv1alpha1.ExportedServiceSpec]()
	for i := range record.NumField() {
		field := record.Field(i).Name
		if property := words(field); !slices.Contains(notMerged, field) && !table.subject(property, "Merge") {
			t.Errorf("property %s of a record has no row %q with a test below Merge", field, property)
		}
	}
}

// words splits a field's name into words.
func words(field string) string {
	var text strings.Builder
	for i, r := range strings.Replace(field, "IPF", "IP F", 1) {
		if i > 0 && unicode.IsUpper(r) && !strings.HasPrefix(field, "IP") {
			text.WriteRune(' ')
		}
		text.WriteRune(r)
	}
	all := strings.Fields(text.String())
	for i, word := range all {
		if word != "IP" {
			all[i] = strings.ToLower(word)
		}
	}
	return strings.Join(all, " ")
}

// constantsOf returns the values of the constants of a type in the Multi-Cluster Services API.
func constantsOf(t *testing.T, kind string) []string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "sigs.k8s.io/mcs-api/pkg/apis/v1beta1").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, file := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == kind {
				for _, v := range spec.Values {
					value, err := strconv.Unquote(v.(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, value)
				}
			}
			return false
		})
	}
	return values
}

func TestMissingRulesAreFound(t *testing.T) {
	table := parseRows("## One\n| a, b c | PortConflict | Go `TestIt` |\n| d | NoService | nothing |\n## Two\n| e | Ready | scenario `it` |\n")
	if !table.has("PortConflict", "One", 2) || table.has("PortConflict", "Two", 2) || table.has("PortConflict", "One", 1) || table.has("Port", "One", 2) || table.has("NoService", "One", 2) {
		t.Error("has is wrong")
	}
	if !table.subject("b c", "One") || table.subject("c", "One") || table.subject("d", "One") || table.subject("e", "One") {
		t.Error("subject is wrong")
	}
	for field, want := range map[string]string{"Type": "type", "IPFamilies": "IP families", "SessionAffinityConfig": "session affinity config"} {
		if got := words(field); got != want {
			t.Errorf("%s is written %q", field, got)
		}
	}
}
