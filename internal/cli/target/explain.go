package target

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

const otherFile = "set the environment variable KUBECONFIG, or add --kubeconfig FILE"

// explain adds to an error of the kubeconfig which files and contexts exist. For missing files, client-go suggests an
// environment variable that has no effect here.
func (c *Cluster) explain(err error) error {
	files := c.rules().GetLoadingPrecedence()
	present := slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		_, err := os.Stat(file)
		return errors.Is(err, fs.ErrNotExist)
	})
	switch {
	case len(present) == 0 && len(files) == 1:
		return fmt.Errorf("reading the kubeconfig: file %s does not exist: %s", files[0], otherFile)
	case len(present) == 0 && len(files) > 1:
		return fmt.Errorf("reading the kubeconfig: files %s do not exist: %s", strings.Join(files, ", "), otherFile)
	}
	name := strings.Join(present, ", ")
	raw, broken := c.Loader().RawConfig()
	if broken != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	contexts := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	context := cmp.Or(c.Context, raw.CurrentContext)
	switch _, exists := raw.Contexts[context]; {
	case contexts == "":
		return fmt.Errorf("reading the kubeconfig: file %s has no contexts: %s", name, otherFile)
	case context == "":
		return fmt.Errorf("reading the kubeconfig: file %s has no current context: add --context NAME; contexts of %[1]s: %s", name, contexts)
	case !exists:
		return fmt.Errorf("reading the kubeconfig: %w; contexts of %s: %s", err, name, contexts)
	}
	return fmt.Errorf("reading the kubeconfig: %w", err)
}
