// Package kubebin provides etcd, the Kubernetes programs, kubectl and stock CoreDNS, and builds them if needed.
//
// It builds each version once, from the Go module registry, into the user's cache folder. Users can point to a folder
// with existing programs instead.
package kubebin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// KubernetesVersion is the default version of the Kubernetes programs.
	KubernetesVersion = "v1.37.2"
	// CoreDNSVersion is the version of the stock CoreDNS that serves cluster.local in the lab.
	CoreDNSVersion = "v1.15.0"
	// FolderVariable is the environment variable for a folder with the programs, instead of the cache.
	FolderVariable = "ATOLL_KUBE_BIN"
	// VersionVariable is the environment variable for other versions than KubernetesVersion.
	VersionVariable = "ATOLL_KUBERNETES"
)

// Versions are the versions that labs can run, newest first. A folder lab/kube/MINOR pins each with its dependencies.
var Versions = []string{KubernetesVersion, "v1.36.3", "v1.35.4"}

// kubePrograms are the names of lab/kube's multi-call program.
var kubePrograms = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet",
}

// Programs lists all programs that a folder must have.
func Programs() []string {
	return append([]string{"coredns", "kubectl"}, kubePrograms...)
}

// Choose fills in what the environment says about the versions, separated by commas, and the folder of the programs. It
// returns either a folder, whose programs have an unknown version, or some of Versions, separated by commas.
func Choose(versions, folder string) (string, string, error) {
	versions = cmp.Or(versions, os.Getenv(VersionVariable))
	folder = cmp.Or(folder, os.Getenv(FolderVariable))
	switch {
	case folder == "":
		versions = cmp.Or(versions, KubernetesVersion)
	case versions != "":
		return "", "", fmt.Errorf("choose either Kubernetes %s or the programs in directory %s: unset --kubernetes and %s, or --kube-bin and %s",
			versions, folder, VersionVariable, FolderVariable)
	default:
		return "", folder, nil
	}
	for version := range strings.SplitSeq(versions, ",") {
		if !slices.Contains(Versions, version) {
			return "", "", fmt.Errorf("labs cannot run Kubernetes %q: choose one or several of %s, or set --kube-bin to a directory with other programs",
				version, strings.Join(Versions, ", "))
		}
	}
	return versions, "", nil
}

// Ensure returns folders with all Programs: the one that Choose returns, or else each version's in the user's cache,
// where it builds missing programs. A build takes minutes, and writes to progress at least every 15 seconds.
func Ensure(ctx context.Context, progress io.Writer, versions, folder string) (folders []string, err error) {
	if versions, folder, err = Choose(versions, folder); err != nil {
		return nil, err
	}
	if folder != "" {
		folder, err = checkFolder(folder)
		return []string{folder}, err
	}
	for version := range strings.SplitSeq(versions, ",") {
		if folder, err = ensure(ctx, progress, version); err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

// ensure returns a version's folder in the user's cache.
func ensure(ctx context.Context, progress io.Writer, version string) (string, error) {
	source, err := findSource(version)
	if err != nil {
		return "", err
	}
	dir, err := cacheFolder(source, version)
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
	if err := build(ctx, progress, version, source, dir); err != nil {
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

// minor returns 37 for v1.37.2.
func minor(version string) string { return strings.Split(version, ".")[1] }

// findSource finds the folder of a version's module in lab/kube, upwards from this program's folder (bin/atoll in a
// source tree) and from the current folder.
func findSource(version string) (string, error) {
	var starts []string
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			candidate := filepath.Join(dir, "lab", "kube", "1."+minor(version))
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
func cacheFolder(source, version string) (string, error) {
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
	name := version + "-coredns-" + CoreDNSVersion + "-" + hex.EncodeToString(digest.Sum(nil))[:10]
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
