package kubebin

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestVersionsAreThoseThatTheModulesRequire(t *testing.T) {
	modules, err := filepath.Glob("../kube/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var pinned []string
	for _, module := range slices.Backward(modules) {
		mod, err := os.ReadFile(module)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`\sk8s\.io/kubernetes (v\S+)`).FindSubmatch(mod)
		if found == nil || filepath.Base(filepath.Dir(module)) != "1."+minor(string(found[1])) {
			t.Fatalf("%s requires %q", module, found)
		}
		pinned = append(pinned, string(found[1]))
	}
	if !slices.Equal(pinned, Versions) {
		t.Errorf("the modules in lab/kube require %q, Versions are %q", pinned, Versions)
	}
}

func TestPageNamesTheVersionOfCoreDNS(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/stock-coredns.md")
	if err != nil || !strings.Contains(string(page), "CoreDNS "+strings.TrimPrefix(CoreDNSVersion, "v")) {
		t.Errorf("the page does not name %s, whose answers it shows: %v", CoreDNSVersion, err)
	}
}

func TestChoose(t *testing.T) {
	for name, test := range map[string]struct {
		version, folder, versionVariable, folderVariable string

		wantVersion, wantFolder, wantError string
	}{
		"default":                    {wantVersion: KubernetesVersion},
		"version":                    {version: "v1.35.4", versionVariable: "v1.36.3", wantVersion: "v1.35.4"},
		"version of the environment": {versionVariable: "v1.36.3", wantVersion: "v1.36.3"},
		"several versions":           {versionVariable: "v1.36.3,v1.35.4", wantVersion: "v1.36.3,v1.35.4"},
		"unknown version":            {version: "v1.36.4", wantError: "v1.37.2, v1.36.3, v1.35.4"},
		"one unknown version":        {version: "v1.37.2,v1.36.4", wantError: `"v1.36.4"`},
		"an empty one":               {version: "v1.37.2,", wantError: `""`},
		"folder":                     {folder: "/x", folderVariable: "/y", wantFolder: "/x"},
		"folder of the environment":  {folderVariable: "/y", wantFolder: "/y"},
		"both":                       {version: "v1.36.3", folderVariable: "/y", wantError: "either"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(VersionVariable, test.versionVariable)
			t.Setenv(FolderVariable, test.folderVariable)
			version, folder, err := Choose(test.version, test.folder)
			if version != test.wantVersion || folder != test.wantFolder || (err == nil) != (test.wantError == "") {
				t.Errorf("got %q, %q, %v", version, folder, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.wantError) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestEnsureTakesAGivenFolderOnlyWhenItIsComplete(t *testing.T) {
	t.Setenv(VersionVariable, "")
	dir := t.TempDir()
	_, err := Ensure(context.Background(), io.Discard, "", dir)
	if err == nil || !strings.Contains(err.Error(), "kube-proxy") {
		t.Fatalf("an empty folder gave %v, want an error that names what is missing", err)
	}
	for _, name := range Programs() {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(FolderVariable, dir)
	if got, err := Ensure(context.Background(), io.Discard, "", ""); err != nil || !slices.Equal(got, []string{dir}) {
		t.Errorf("a complete folder gave %q, %v", got, err)
	}
	if err := os.Chmod(filepath.Join(dir, "etcd"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(context.Background(), io.Discard, "", dir); err == nil {
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
	before, err := cacheFolder(source, KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	write("main.go", "changed")
	after, err := cacheFolder(source, KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Errorf("a changed source keeps the folder %s", before)
	}
	if older, err := cacheFolder(source, "v1.36.3"); err != nil || older == after {
		t.Errorf("two versions have the folder %s, %v", older, err)
	}
}

func TestReadBuildOutputSeparatesPackagesFromErrors(t *testing.T) {
	var compiled atomic.Int64
	other := readBuildOutput(strings.NewReader("k8s.io/api/core/v1\ngo: downloading x v1\nk8s.io/api/apps/v1\n./main.go:3: undefined: x\n"), &compiled)
	if compiled.Load() != 2 || len(other) != 2 || !strings.Contains(other[1], "undefined") {
		t.Errorf("compiled %d, other %q", compiled.Load(), other)
	}
}
