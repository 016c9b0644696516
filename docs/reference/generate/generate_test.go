package main

import (
	"os"
	"path/filepath"
	"regexp"
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

var (
	// unclear matches words and phrases that WRITING forbids.
	unclear = regexp.MustCompile(`\b(anew|taken? away|tried again|none of its|by way of|that which|no more of|any more|can't|isn't|doesn't|is there already|all the same)\b`)
	inner   = regexp.MustCompile(`[.:;?] `)
)

const maxWords = 30 // of a sentence

// Messages have short sentences and standard terms.
func TestMessagesArePlain(t *testing.T) {
	page, err := messagesPage("../../..")
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for line := range strings.Lines(page) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			continue
		}
		messages++
		if word := unclear.FindString(text); word != "" {
			t.Errorf("message %q contains the unclear phrase %q", text, word)
		}
		for _, s := range inner.Split(text, -1) {
			if words := len(strings.Fields(s)); words > maxWords {
				t.Errorf("%q: a sentence of %d words", text, words)
			}
		}
	}
	if messages < 300 {
		t.Errorf("only %d messages", messages)
	}
}
