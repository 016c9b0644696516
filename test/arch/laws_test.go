package arch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "example.com/m"

// code parses sources, given by file name.
func code(t *testing.T, sources map[string]string) []Package {
	t.Helper()
	packages := map[string]*Package{}
	for name, source := range sources {
		if err := add(packages, name, []byte(source)); err != nil {
			t.Fatal(err)
		}
	}
	return sorted(packages)
}

// importing returns the source of a file with these imports.
func importing(paths ...string) string {
	var b strings.Builder
	b.WriteString("package x\n")
	for _, p := range paths {
		b.WriteString("import _ \"" + p + "\"\n")
	}
	return b.String()
}

func TestImportsCanFail(t *testing.T) {
	for file, test := range map[string]struct {
		imported string
		ok       bool
	}{
		"internal/mcs/names/a.go":      {"strings", true},
		"internal/mcs/names/b.go":      {"k8s.io/api/core/v1", false},
		"internal/mcs/merge/a.go":      {"k8s.io/api/core/v1", true},
		"internal/mcs/merge/b.go":      {"example.com/m/internal/mcs/names", true},
		"internal/mcs/merge/c.go":      {"k8s.io/client-go/kubernetes", false},
		"internal/mcs/merge/d.go":      {"sigs.k8s.io/controller-runtime/pkg/client", false},
		"internal/mcs/merge/e.go":      {"sigs.k8s.io/mcs-api/pkg/apis/v1beta1", true},
		"internal/mcs/merge/f.go":      {"sigs.k8s.io/mcs-api/pkg/client/clientset/versioned", false},
		"internal/mcs/merge/g.go":      {"example.com/m/internal/broker", false},
		"internal/mcs/merge/a_test.go": {"k8s.io/client-go/kubernetes", true},
		"internal/hub/vip/a.go":        {"sigs.k8s.io/controller-runtime/pkg/client", true},
		"internal/hub/vip/b.go":        {"example.com/m/internal/mcs/merge", true},
		"internal/hub/vip/c.go":        {"example.com/m/internal/hub/policy", false},
		"internal/hub/vip/e.go":        {"example.com/m/internal/hub", false},
		"internal/hub/a.go":            {"example.com/m/internal/hub/vip", true},
		"internal/hub/vip/d.go":        {"example.com/m/internal/hub/vip/plan", true},
		"internal/hub/vip/x/a.go":      {"example.com/m/internal/hub/policy", false},
		"internal/hub/policy/a.go":     {"example.com/m/lab", false},
		"internal/agent/a.go":          {"example.com/m/internal/hub/policy", false},
		"internal/agent/b.go":          {"example.com/m/internal/install/render", false},
		"internal/doctor/a.go":         {"example.com/m/internal/agent", false},
		"internal/broker/a.go":         {"example.com/m/internal/agent/local", false},
		"api/broker/v1alpha1/a.go":     {"k8s.io/apimachinery/pkg/apis/meta/v1", true},
		"api/broker/v1alpha1/b.go":     {"k8s.io/client-go/tools/cache", false},
		"api/broker/v1alpha1/c.go":     {"example.com/m/internal/mcs/names", false},
		"plugin/clusterset/a.go":       {"github.com/coredns/coredns/plugin", true},
		"plugin/clusterset/b.go":       {"example.com/m/internal/agent/imports", false},
		"plugin/clusterset/c.go":       {"example.com/m/internal/broker", false},
		"cmd/atoll/a.go":               {"example.com/m/internal/cli/lab", true},
		"cmd/atoll/b.go":               {"example.com/m/lab", false},
		"cmd/atoll-agent/a.go":         {"example.com/m/internal/hub/policy", false},
		"lab/a.go":                     {"github.com/vishvananda/netlink", true},
		"api/about/v1beta1/a.go":       {"k8s.io/apimachineryx", false},
	} {
		broken := imports(module, table, code(t, map[string]string{file: importing(test.imported)}))
		if (len(broken) == 0) != test.ok {
			t.Errorf("%s importing %s: %v", file, test.imported, broken)
		}
	}
}

func TestFoldersCanFail(t *testing.T) {
	packages := code(t, map[string]string{
		"internal/mcs/merge/a.go": "package merge",
		"internal/surprise/a.go":  "package surprise",
		"main.go":                 "package main",
		"cmd/other/a.go":          "package main",
	})
	var got []string
	for _, place := range folders(table, packages) {
		folder, _, _ := strings.Cut(place, ":")
		got = append(got, folder)
	}
	want := []string{".", "cmd/other", "internal/surprise"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// places removes the reasons from violations.
func places(broken []string) []string {
	var list []string
	for _, place := range broken {
		list = append(list, place[:strings.Index(place, ": ")])
	}
	slices.Sort(list)
	return list
}

func TestLawsCanFail(t *testing.T) {
	long := strings.Repeat("\n", maxFileLines+1)
	function := "func long() {" + strings.Repeat("\n", maxFunctionLines) + "}\n"
	for name, test := range map[string]struct {
		law     func([]Package) []string
		sources map[string]string
		want    []string
	}{
		"folder-names": {folderNames, map[string]string{
			"internal/util/a.go": "package util", "lab/common/x/a.go": "package x", "lab/utility/a.go": "package utility", "pkg/a.go": "package a",
		}, []string{"internal/util", "lab/common/x", "pkg"}},
		"package-docs": {packageDocs, map[string]string{
			"a/a.go": "// Package a is.\npackage a", "b/b.go": "package b", "c/c.go": "// Package b is.\npackage c", "d/d.go": "// It is.\npackage main",
			"e/e.go": "// Package e is.\n\npackage e", "f/f.go": "package f", "f/doc.go": "// Package f is.\npackage f",
			"g/g_test.go": "package g", "h/h.go": "package h", "h/h_test.go": "// Package h is.\npackage h",
		}, []string{"b", "c", "e", "h"}},
		"file-lengths": {fileLengths, map[string]string{
			"a/a.go": "package a" + long, "a/a_test.go": "package a" + long, "a/g.go": "// Code generated by x. DO NOT EDIT.\n\npackage a" + long,
			"a/b.go": "package a" + long[1:],
		}, []string{"a/a.go"}},
		"function-lengths": {functionLengths, map[string]string{
			"a/a.go": "package a\n\n" + function, "a/a_test.go": "package a\n" + function, "a/b.go": "package a\n" + strings.Replace(function, "\n", "", 1),
		}, []string{"a/a.go:3"}},
		"command-lengths": {commandLengths, map[string]string{
			"cmd/x/main.go": "package main" + strings.Repeat("\n", 40), "cmd/x/more.go": "package main" + strings.Repeat("\n", 40),
			"cmd/y/main.go": "package main" + strings.Repeat("\n", 60), "internal/a.go": "package a" + strings.Repeat("\n", 80),
		}, []string{"cmd/x"}},
		"no-sleeping": {func(p []Package) []string { return sleeps(map[string]string{"a/b_test.go": "reason"}, p) }, map[string]string{
			"a/a_test.go": "package a\nimport \"time\"\nfunc f() {\n\ttime.Sleep(1)\n}", "a/b_test.go": "package a\nfunc f() { time.Sleep(1) }",
			"a/a.go": "package a\nfunc f() { time.Sleep(1) }", "internal/hub/c/a.go": "package c\nfunc f() { time.Sleep(1) }",
			"test/scenario/a.go": "package c\nvar f = time.Sleep", "a/c_test.go": "package a\nfunc f() { clock.Sleep(1); time.Now() }",
		}, []string{"a/a_test.go:4", "internal/hub/c/a.go:2", "test/scenario/a.go:2"}},
		"documented": {undocumented, map[string]string{
			"api/a.go": `package a
type T struct {
	// F is.
	F int
	G int // is
	H int
	Spec, i int
	Embedded
}
// U is.
type U struct{}
func (U) M() {}
func (t) N() {}
func f() {}
const C = 1
// Several.
const (
	D = 1
	E = 2
)
var (
	V = 1 // is
	W = 2
)
`,
			"lab/a.go":              "package lab\n// T is.\ntype T struct {\n\tF int\n}\nfunc (*T) M() {}\nfunc F() {}\n",
			"internal/a.go":         "package a\nfunc F() {}\n",
			"api/z.go":              "// Code generated by x. DO NOT EDIT.\n\npackage a\nfunc F() {}\n",
			"lab/x/main.go":         "package main\nfunc F() {}\n",
			"lab/p/internal/q/a.go": "package q\nfunc F() {}\n",
		}, []string{"api/a.go:12", "api/a.go:15", "api/a.go:2", "api/a.go:23", "api/a.go:6", "lab/a.go:6", "lab/a.go:7"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, places(test.law(code(t, test.sources)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadFindsTheCode(t *testing.T) {
	packages := repository(t)
	found := func(folder string) bool {
		return slices.ContainsFunc(packages, func(p Package) bool { return p.Path == folder })
	}
	if !found("test/arch") || !found("lab/kube/1.37") {
		t.Error("a folder is missing")
	}
	if found("bin/x") || found("test/scenario/testdata") {
		t.Error("a folder too many")
	}
	if name, err := Module(root); err != nil || name != "github.com/atoll-mcs/atoll" {
		t.Errorf("module %q, %v", name, err)
	}
}
