// Package memory sets the Go runtime's memory limit from the container's memory limit.
package memory

import (
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// part is the part of a container's memory limit up to which the garbage collector lets the heap grow. Beyond it, the
// program slows down instead of being killed.
const part = 0.9

// Limit sets the Go runtime's memory limit by the container's, unless GOMEMLIMIT does.
func Limit() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := ofContainer(os.DirFS("/sys/fs/cgroup")); limit > 0 {
		debug.SetMemoryLimit(int64(float64(limit) * part))
	}
}

// ofContainer returns the limit of a control group in bytes, 0 for none: a file of version 2 or of version 1 of cgroups has it.
func ofContainer(cgroup fs.FS) int64 {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" for none
		if err != nil || limit >= 1<<60 {                                       // version 1 has a huge number for none
			return 0
		}
		return limit
	}
	return 0
}
