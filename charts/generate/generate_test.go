package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The generated files of the charts are current.
func TestCurrent(t *testing.T) {
	files, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files", len(files))
	}
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil || string(have) != want {
			t.Errorf("charts/%s is not current (%v): make generate", name, err)
		}
		for _, left := range []string{placeholder, registry, tag, arguments, haproxyImage, "987654"} {
			if strings.Contains(want, left) {
				t.Errorf("charts/%s still has %s", name, left)
			}
		}
	}
	for _, pattern := range []string{"../*/crds/*", "../*/templates/*.yaml"} {
		found, _ := filepath.Glob(pattern) // a good pattern
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, made := files[strings.TrimPrefix(filepath.ToSlash(file), "../")]; !made && bytes.HasPrefix(text, []byte(header)) {
				t.Errorf("%s is no longer generated. Delete the file.", file)
			}
		}
	}
}

// Objects that a template cannot represent are refused.
func TestRefused(t *testing.T) {
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}, "data": map[string]any{"a": "{{ b }}"},
	}}
	of := func(o *unstructured.Unstructured) chart {
		return chart{objects: func([]bool) []*unstructured.Unstructured { return []*unstructured.Unstructured{o} }}
	}
	if _, err := of(config).document(config); err == nil || !strings.Contains(err.Error(), "would be a template action") {
		t.Errorf("an action in an object: %v", err)
	}
	config.Object["data"] = map[string]any{"a": "b"}
	if text, err := of(config).document(config); err != nil || !strings.Contains(text, "a: b") {
		t.Errorf("%q, %v", text, err)
	}
	other := config.DeepCopy()
	other.Object["data"] = map[string]any{"a": "c"}
	varied := chart{choices: []string{".first", ".second"}, objects: func(chosen []bool) []*unstructured.Unstructured {
		switch {
		case chosen[1]:
			return []*unstructured.Unstructured{other}
		case chosen[0]:
			return []*unstructured.Unstructured{config}
		}
		return nil
	}}
	if text, err := varied.document(config); err != nil || strings.Count(text, "kind: ConfigMap") != 2 || !strings.Contains(text, "{{- if .second }}") {
		t.Errorf("%q, %v", text, err)
	}
	good := "spec:\n  replicas: 987654\n  template:\n    metadata:\n    spec:\n      containers:\n      - image: registry-of-the-values/a:tag-of-the-values\n        resources:\n          limits: {}\n"
	if _, err := (chart{}).deployment("a", good, false); err != nil {
		t.Error(err)
	}
	for _, part := range []string{"  replicas: 987654\n", "    spec:\n", "registry-of-the-values/", "        resources:\n"} {
		if _, err := (chart{}).deployment("a", strings.Replace(good, part, "", 1), false); err == nil {
			t.Errorf("without %q: no error", part)
		}
	}
}

func TestCommandLine(t *testing.T) {
	var out bytes.Buffer
	if status := run([]string{"--help"}, &out, &out); status != 0 || !strings.Contains(out.String(), "make generate") {
		t.Errorf("%d, %s", status, out.String())
	}
	if status := run([]string{"a", "b"}, &out, &out); status != 64 {
		t.Errorf("two folders: %d", status)
	}
	dir := t.TempDir()
	if status := run([]string{dir}, &out, &out); status != 0 {
		t.Errorf("%d, %s", status, out.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "atoll-broker", "templates", "admission.yaml")); err != nil {
		t.Error(err)
	}
	if status := run([]string{filepath.Join(dir, "atoll-broker", "templates", "admission.yaml")}, &out, &out); status != 1 {
		t.Errorf("a file in place of the folder: %d", status)
	}
}
