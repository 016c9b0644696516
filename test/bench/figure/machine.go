package figure

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// ThisMachine describes the machine that this program runs on.
func ThisMachine() Machine {
	m := Machine{CPUs: runtime.NumCPU(), Go: runtime.Version()}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryBytes, m.LoadBefore = int64(info.Totalram)*int64(info.Unit), float64(info.Loads[0])/(1<<16)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	return m
}
