package podrunner

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/lab/internal/mountinfo"
	"github.com/atoll-mcs/atoll/lab/network"
)

// lock makes sure that there is one runner for the state folder: another would
// take this one's Pods for remains. The lock ends with the process.
func lock(cfg *Config) (*os.File, error) {
	if err := os.MkdirAll(cfg.StateDir, 0o755); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(cfg.StateDir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the state folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another pod runner uses %s: %w", cfg.StateDir, err)
	}
	return f, nil
}

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
	if err := mountinfo.UnmountBelow(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// removeOldLogs removes the logs of Pods that are not among the workers'.
func (r *runner) removeOldLogs() {
	entries, err := os.ReadDir(r.cfg.logsDir())
	if err != nil {
		return // there are none yet
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		if uid := types.UID(e.Name()); r.workers[uid] == nil {
			r.removeLogs(uid)
		}
	}
}

// removeLogs removes the logs of a Pod that is gone.
func (r *runner) removeLogs(uid types.UID) {
	if err := os.RemoveAll(filepath.Join(r.cfg.logsDir(), string(uid))); err != nil {
		r.log.Warn("removing logs", "uid", uid, "error", err)
	}
}
