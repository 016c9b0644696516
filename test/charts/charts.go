// Package charts tests that the Helm charts give the same objects as the commands. Other tests
// render charts with this package.
package charts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/install"
)

// Root is the path from the running test's folder to the repository: the nearest parent folder
// with a go.mod.
func Root() string {
	dir := "."
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	return dir
}

// helm returns the program's path. It searches only once.
var helm = sync.OnceValues(func() (string, error) {
	command := exec.Command("go", "tool", "-modfile=tools/go.mod", "-n", "helm")
	command.Dir = Root()
	path, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("building helm: %w", said(err))
	}
	return strings.TrimSpace(string(path)), nil
})

// Helm returns the path of helm in the version that tools/go.mod pins. It builds helm if
// necessary.
func Helm() (string, error) { return helm() }

// Run runs helm in the repository's folder and returns its output.
func Run(ctx context.Context, args ...string) (string, error) {
	program, err := Helm()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = Root()
	output, err := command.Output()
	return string(output), said(err)
}

// said adds a program's standard error to its error.
func said(err error) error {
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	return err
}

// kubernetes is the Kubernetes version for rendering without an API server: the oldest
// supported version.
const kubernetes = "v1.30.0"

// Objects renders a chart. CustomResourceDefinitions come first.
func Objects(ctx context.Context, chart string, args ...string) ([]*unstructured.Unstructured, error) {
	text, err := Run(ctx, append([]string{"template", "release", "charts/" + chart, "--include-crds", "--kube-version", kubernetes}, args...)...)
	if err != nil {
		return nil, err
	}
	return install.Parse([]byte(text))
}
