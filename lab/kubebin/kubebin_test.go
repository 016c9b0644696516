package kubebin

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

func TestVersionIsTheOneThatTheModuleRequires(t *testing.T) {
	source, err := findSource()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`k8s\.io/kubernetes (v\S+)`).FindSubmatch(mod)
	if found == nil || string(found[1]) != KubernetesVersion {
		t.Errorf("go.mod requires %q, KubernetesVersion is %q", found, KubernetesVersion)
	}
}

func TestEnsureTakesAGivenFolderOnlyWhenItIsComplete(t *testing.T) {
	dir := t.TempDir()
	_, err := Ensure(context.Background(), io.Discard, dir)
	if err == nil || !strings.Contains(err.Error(), "kube-proxy") {
		t.Fatalf("an empty folder gave %v, want an error that names what is missing", err)
	}
	for _, name := range Programs() {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(FolderVariable, dir)
	if got, err := Ensure(context.Background(), io.Discard, ""); err != nil || got != dir {
		t.Errorf("a complete folder gave %q, %v", got, err)
	}
	if err := os.Chmod(filepath.Join(dir, "etcd"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(context.Background(), io.Discard, dir); err == nil {
		t.Error("a program that can't be executed was accepted")
	}
}

func TestCacheFolderFollowsTheSources(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	source := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(source, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		write(name, name)
	}
	before, err := cacheFolder(source)
	if err != nil {
		t.Fatal(err)
	}
	write("main.go", "changed")
	after, err := cacheFolder(source)
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Errorf("a changed source keeps the folder %s", before)
	}
}

func TestReadBuildOutputSeparatesPackagesFromErrors(t *testing.T) {
	var compiled atomic.Int64
	other := readBuildOutput(strings.NewReader("k8s.io/api/core/v1\ngo: downloading x v1\nk8s.io/api/apps/v1\n./main.go:3: undefined: x\n"), &compiled)
	if compiled.Load() != 2 || len(other) != 2 || !strings.Contains(other[1], "undefined") {
		t.Errorf("compiled %d, other %q", compiled.Load(), other)
	}
}
