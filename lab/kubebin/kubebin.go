// Package kubebin provides etcd, the Kubernetes programs, kubectl and stock CoreDNS, and builds them if needed.
//
// It builds each version once, from the Go module registry, into the user's cache folder. Users can point to a folder
// with existing programs instead.
package kubebin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// KubernetesVersion is the Kubernetes programs' version. It must match lab/kube/1.37/go.mod.
	KubernetesVersion = "v1.37.2"
	// CoreDNSVersion is the version of the stock CoreDNS that serves cluster.local in the lab.
	CoreDNSVersion = "v1.15.0"
	// FolderVariable is the environment variable for a folder with the programs, instead of the cache.
	FolderVariable = "ATOLL_KUBE_BIN"
)

// kubePrograms are the names of lab/kube's multi-call program.
var kubePrograms = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet",
}

// Programs lists all programs that a folder must have.
func Programs() []string {
	return append([]string{"coredns", "kubectl"}, kubePrograms...)
}

// Ensure returns a folder with all Programs: override if set, else the folder in FolderVariable, else the user's cache,
// where it builds missing programs. A build takes minutes, and writes to progress at least every 15 seconds.
func Ensure(ctx context.Context, progress io.Writer, override string) (string, error) {
	if override == "" {
		override = os.Getenv(FolderVariable)
	}
	if override != "" {
		return checkFolder(override)
	}
	source, err := findSource()
	if err != nil {
		return "", err
	}
	dir, err := cacheFolder(source)
	if err != nil {
		return "", err
	}
	if complete(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache directory: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete(dir) { // built by another process in the meantime
		return dir, nil
	}
	if err := build(ctx, progress, source, dir); err != nil {
		return "", err
	}
	return dir, nil
}

func checkFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving %q: %w", dir, err)
	}
	if missing := missingPrograms(abs); len(missing) > 0 {
		return "", fmt.Errorf("directory %s lacks these programs: %s. Put the programs into the directory, or unset --kube-bin and %s to build the programs",
			abs, strings.Join(missing, ", "), FolderVariable)
	}
	return abs, nil
}

func complete(dir string) bool { return len(missingPrograms(dir)) == 0 }

func missingPrograms(dir string) []string {
	var missing []string
	for _, name := range Programs() {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o111 == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

// findSource finds the folder of module lab/kube, upwards from this program's folder (bin/atoll in a source tree) and
// from the current folder.
func findSource() (string, error) {
	var starts []string
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			candidate := filepath.Join(dir, "lab", "kube", "1.37")
			if _, err := os.Stat(filepath.Join(candidate, "go.mod")); err == nil {
				return candidate, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("finding lab/kube, the source of the Kubernetes programs: " +
		"run this inside Atoll's source tree, or set the directory of the programs with --kube-bin or " + FolderVariable)
}

// cacheFolder names the folder of built programs. The name has the versions, for people, and a digest of the sources,
// so that changed sources are rebuilt.
func cacheFolder(source string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache directory: %w", err)
	}
	digest := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("reading the sources of the Kubernetes programs: %w", err)
		}
		digest.Write(content)
	}
	name := KubernetesVersion + "-coredns-" + CoreDNSVersion + "-" + hex.EncodeToString(digest.Sum(nil))[:10]
	return filepath.Join(cache, "atoll", "kube", name), nil
}

// lock waits for a file's exclusive lock, so that only one process builds a folder.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the build lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { file.Close() }, nil // closing releases the lock
}
