package process

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// CPU returns the process's user and system CPU time since its start, in units of 10 ms.
func (r Record) CPU() (time.Duration, error) {
	st, err := readStat(r.PID)
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time: %w", err)
	}
	return st.cpu, nil
}

// Memory returns the process's proportional set size in bytes, which counts shared pages in parts. If the caller may
// not read that, it returns the resident memory.
func (r Record) Memory() (int64, error) {
	if n, err := field(fmt.Sprintf("/proc/%d/smaps_rollup", r.PID), "Pss:"); err == nil {
		return n, nil
	}
	return field(fmt.Sprintf("/proc/%d/status", r.PID), "VmRSS:")
}

// field returns the value of a line `NAME 123 kB` in bytes.
func field(path, name string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("reading memory usage: %w", err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		rest, ok := strings.CutPrefix(s.Text(), name)
		if !ok {
			continue
		}
		var kib int64
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			return 0, fmt.Errorf("reading memory usage: %w", err)
		}
		return kib << 10, nil
	}
	return 0, fmt.Errorf("reading memory usage: %[2]s has no field %[1]s", name, path)
}
