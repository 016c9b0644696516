package podrunner

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/atoll-mcs/atoll/lab/network"
)

// removeRemains removes what an earlier runner of the same lab and cluster left
// behind: the Pods' network namespaces, mounts and folders. Its containers ended
// with it. Logs stay as long as their Pods.
func removeRemains(cfg *Config) error {
	namespaces, err := filepath.Glob(network.Namespace(cfg.podNamespacePrefix()).Path() + "*")
	if err != nil {
		return fmt.Errorf("listing network namespaces: %w", err)
	}
	for _, path := range namespaces {
		if err := network.Namespace(filepath.Base(path)).Delete(); err != nil {
			return err
		}
	}
	if err := removeTree(cfg.podsDir()); err != nil {
		return fmt.Errorf("removing an earlier runner's folders: %w", err)
	}
	return nil
}

// removeTree removes a folder, after unmounting what is mounted in it.
func removeTree(dir string) error {
	points, err := mountPoints(dir)
	if err != nil {
		return err
	}
	for _, point := range points {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", point, err)
		}
	}
	return os.RemoveAll(dir)
}

// mountPoints lists what is mounted below dir, the last one first.
func mountPoints(dir string) ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points, lines.Err()
}
