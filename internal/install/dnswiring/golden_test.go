package dnswiring

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

var wiring = Wiring{Zones: []string{"clusterset.local"}, Servers: []netip.Addr{netip.MustParseAddr("10.96.0.53")}}

// read makes a cluster of the objects in a YAML stream.
func read(t *testing.T, stream []byte) Cluster {
	t.Helper()
	var c Cluster
	for text := range strings.SplitSeq(string(stream), "---\n") {
		var meta metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
			t.Fatal(err)
		}
		switch {
		case meta.Kind == "Deployment":
			c.KubeDNSRuns = true
		case meta.Kind == "DNS":
			c.OpenShift = &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &c.OpenShift.Object); err != nil {
				t.Fatal(err)
			}
		default:
			cm := &corev1.ConfigMap{}
			if err := yaml.UnmarshalStrict([]byte(text), cm); err != nil {
				t.Fatal(err)
			}
			*c.place(meta.Name) = cm
		}
	}
	return c
}

// place is where a ConfigMap of that name belongs.
func (c *Cluster) place(name string) **corev1.ConfigMap {
	switch name {
	case "coredns-custom":
		return &c.Custom
	case "kube-dns":
		return &c.KubeDNS
	case "node-local-dns", "nodelocaldns":
		return &c.NodeLocal
	default:
		return &c.CoreDNS
	}
}

// apply does what changes say.
func (c Cluster) apply(changes []Change) Cluster {
	for _, change := range changes {
		if after, ok := change.Object().(*unstructured.Unstructured); ok {
			c.OpenShift = after
			continue
		}
		place := c.place(change.Object().GetName())
		*place = nil
		if change.After != nil {
			*place = change.After.(*corev1.ConfigMap)
		}
	}
	return c
}

// text writes a cluster as the API would: what is empty is not there.
func (c Cluster) text(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	write := func(o any) {
		data, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	for _, cm := range []*corev1.ConfigMap{c.CoreDNS, c.Custom, c.KubeDNS, c.NodeLocal} {
		if cm != nil {
			write(cm)
		}
	}
	if c.OpenShift != nil {
		write(c.OpenShift.Object)
	}
	return b.String()
}

// describe writes changes as a person sees them.
func describe(forms []Form, changes []Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "forms: %v\n", forms)
	for _, c := range changes {
		for _, note := range c.Warnings {
			fmt.Fprintf(&b, "note: %s: %s\n", c.Form, note)
		}
	}
	for _, c := range changes {
		b.WriteString(c.Diff())
	}
	return b.String()
}

// TestClusters wires and unwires clusters as distributions make them: the diff is what is in
// testdata, a second time changes nothing, another server changes nothing else, and what is
// there in the end is what was there in the beginning.
func TestClusters(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			was := read(t, archive.Files[0].Data)
			before := was.text(t)
			forms := must(Detect(was))
			changes := must(Install(was, wiring, forms))
			golden(t, file, archive, describe(forms, changes))
			if was.text(t) != before {
				t.Error("what was read has changed")
			}
			roundTrips(t, was, was.apply(changes))
		})
	}
}

// roundTrips looks at a cluster before and after it was wired.
func roundTrips(t *testing.T, was, is Cluster) {
	t.Helper()
	forms := must(Detect(is))
	again := must(Install(is, wiring, forms))
	if slices.ContainsFunc(again, func(c Change) bool { return !c.None() }) {
		t.Errorf("a second time changes something:\n%s", describe(nil, again))
	}
	other := Wiring{
		Zones:   []string{"example.net", "clusterset.local"},
		Servers: []netip.Addr{netip.MustParseAddr("10.96.0.99"), netip.MustParseAddr("fd00::99")},
	}
	moved := is.apply(must(Install(is, other, forms)))
	if moved.text(t) == is.text(t) {
		t.Error("other servers change nothing")
	}
	if diff := cmp.Diff(is.text(t), moved.apply(must(Install(moved, wiring, forms))).text(t)); diff != "" {
		t.Errorf("to other servers and back: %s", diff)
	}
	unwired := was.apply(must(Uninstall(was, Forms())))
	for _, wired := range []Cluster{is, moved} {
		if diff := cmp.Diff(unwired.text(t), wired.apply(must(Uninstall(wired, Forms()))).text(t)); diff != "" {
			t.Errorf("installed and uninstalled: %s", diff)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func golden(t *testing.T, file string, archive *txtar.Archive, got string) {
	t.Helper()
	if *update {
		archive.Files = append(archive.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(archive.Files) != 2 {
		t.Fatal("run this test with -update, and look at what it writes")
	}
	if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
		t.Error(diff)
	}
}
