package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// unpacked matches ctr's output for each image of an archive.
var unpacked = regexp.MustCompile(`(?m)^unpacking (\S+) `)

// Load loads an archive's images (from `docker save`, or an OCI layout) into all nodes, and returns their names.
func (l *Lab) Load(ctx context.Context, archive string) ([]string, error) {
	if l.Spec.ControlPlaneOnly {
		return nil, fmt.Errorf("%w: lab %s consists of control planes only and has no nodes for images", ErrUsage, l.Name())
	}
	path, err := filepath.Abs(archive)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("loading images: %w", err)
	}
	var mu sync.Mutex
	var names []string
	group, ctx := errgroup.WithContext(ctx)
	for i := range l.Spec.Clusters {
		c := &l.Spec.Clusters[i]
		if c.Name == Broker { // runs no pods
			continue
		}
		for j := range c.Nodes {
			n := &c.Nodes[j]
			group.Go(func() error {
				out, err := exec.CommandContext(ctx, "ctr", "--address="+l.containerdSocket(c, n), "--namespace=k8s.io", "images", "import", path).CombinedOutput()
				if err != nil {
					return fmt.Errorf("loading the images of %s to node %s: %w: %s", archive, n.Name, err, bytes.TrimSpace(out))
				}
				mu.Lock()
				defer mu.Unlock()
				for _, match := range unpacked.FindAllSubmatch(out, -1) {
					names = append(names, string(match[1]))
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("loading images: the images in %s have no names: name each image, for example with docker tag", archive)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
