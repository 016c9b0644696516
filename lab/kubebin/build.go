package kubebin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// progressInterval is the interval between progress messages of a build.
const progressInterval = 10 * time.Second

// build builds all programs. Each one appears in dir only when it is complete.
func build(ctx context.Context, progress io.Writer, kubernetes, source, dir string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("finding the go command, which builds the Kubernetes programs: %w", err)
	}
	staging, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return fmt.Errorf("creating a build directory: %w", err)
	}
	defer os.RemoveAll(staging)

	fmt.Fprintf(progress, "Building Kubernetes %s and CoreDNS %s from Go modules. This build runs once and takes several minutes.\n",
		kubernetes, CoreDNSVersion)
	if err := buildKube(ctx, progress, kubernetes, source, staging); err != nil {
		return err
	}
	if err := buildCoreDNS(ctx, progress, staging); err != nil {
		return err
	}
	return install(staging, dir)
}

func buildKube(ctx context.Context, progress io.Writer, kubernetes, source, out string) error {
	version := "k8s.io/component-base/version."
	flags := "-s -w" +
		" -X " + version + "gitVersion=" + kubernetes +
		" -X " + version + "gitMajor=1" +
		" -X " + version + "gitMinor=" + minor(kubernetes)
	// The tags omit cloud providers and SELinux.
	for program, of := range map[string]string{"kube": ".", "kubectl": "k8s.io/kubernetes/cmd/kubectl"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-mod=readonly",
			"-tags", "providerless,selinux_none", "-ldflags", flags, "-o", filepath.Join(out, program), of)
		cmd.Dir = source
		if err := run(ctx, cmd, progress, program+" of Kubernetes "+kubernetes); err != nil {
			return err
		}
	}
	return nil
}

// buildCoreDNS builds the upstream program with its own dependency versions, as "go install package@version"
// guarantees.
func buildCoreDNS(ctx context.Context, progress io.Writer, out string) error {
	cmd := exec.CommandContext(ctx, "go", "install", "-v", "-trimpath", "-ldflags", "-s -w",
		"github.com/coredns/coredns@"+CoreDNSVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+out)
	return run(ctx, cmd, progress, "CoreDNS "+CoreDNSVersion)
}

// run runs a verbose go build, and reports the number of compiled packages every progressInterval.
func run(ctx context.Context, cmd *exec.Cmd, progress io.Writer, what string) error {
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("building %s: %w", what, err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("building %s: %w", what, err)
	}
	var compiled atomic.Int64
	stop := report(progress, what, start, &compiled)
	output := readBuildOutput(stderr, &compiled)
	err = cmd.Wait()
	stop()
	if ctx.Err() != nil {
		return fmt.Errorf("building %s: %w", what, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s", what, err, strings.Join(output, "\n"))
	}
	fmt.Fprintf(progress, "  %s: built in %s\n", what, time.Since(start).Round(time.Second))
	return nil
}

// readBuildOutput counts the packages in go build -v's output, and returns the last 40 other lines, which explain a
// failure.
func readBuildOutput(stderr io.Reader, compiled *atomic.Int64) []string {
	var other []string
	scanner := bufio.NewScanner(stderr)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		if line == "" || strings.ContainsAny(line, " \t") {
			other = append(other, line)
			other = other[max(0, len(other)-40):]
			continue
		}
		compiled.Add(1)
	}
	return other
}

// report prints a line every progressInterval until stop is called.
func report(progress io.Writer, what string, start time.Time, compiled *atomic.Int64) (stop func()) {
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(progress, "  %s: %d packages compiled, %s\n",
					what, compiled.Load(), time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() { close(done); <-finished }
}

// install moves the built programs from staging into dir, links last.
func install(staging, dir string) error {
	for _, name := range []string{"kube", "kubectl", "coredns"} {
		if err := os.Rename(filepath.Join(staging, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("installing %s: %w", name, err)
		}
	}
	for _, name := range kubePrograms {
		link := filepath.Join(dir, name)
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("installing %s: %w", name, err)
		}
		if err := os.Symlink("kube", link); err != nil {
			return fmt.Errorf("installing %s: %w", name, err)
		}
	}
	return nil
}
