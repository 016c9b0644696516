package process

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// CPU returns the process's time on processors since it began, as its user and by
// the kernel, in hundredths of a second.
func (r Record) CPU() (time.Duration, error) {
	st, err := readStat(r.PID)
	if err != nil {
		return 0, fmt.Errorf("reading the time on processors: %w", err)
	}
	return st.cpu, nil
}

// Memory returns the process's proportional share of memory in bytes: pages
// that several processes use, as the programs' text, count in parts. Where the
// caller may not see that, it is the resident memory.
func (r Record) Memory() (int64, error) {
	if n, err := field(fmt.Sprintf("/proc/%d/smaps_rollup", r.PID), "Pss:"); err == nil {
		return n, nil
	}
	return field(fmt.Sprintf("/proc/%d/status", r.PID), "VmRSS:")
}

// field finds a line `NAME 123 kB` and returns it in bytes.
func field(path, name string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("reading memory: %w", err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		rest, ok := strings.CutPrefix(s.Text(), name)
		if !ok {
			continue
		}
		var kib int64
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			return 0, fmt.Errorf("reading memory: %w", err)
		}
		return kib << 10, nil
	}
	return 0, fmt.Errorf("reading memory: no %s in %s", name, path)
}
