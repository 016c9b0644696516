package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/lab/network"
	"golang.org/x/sys/unix"
)

// Alive reports whether the recorded process runs. A zombie does not.
func (r Record) Alive() bool {
	boot, err := bootID()
	if err != nil || boot != r.BootID {
		return false
	}
	st, err := readStat(r.PID)
	return err == nil && st.startTime == r.StartTime && st.state != 'Z' && st.state != 'X'
}

// Stop sends SIGTERM, and SIGKILL after the grace period, or at once if that is zero. It returns when the process has
// ended. A missing process is no error.
func (r Record) Stop(ctx context.Context, grace time.Duration) error {
	fd, ok, err := r.open()
	if err != nil || !ok {
		return err
	}
	defer unix.Close(fd)
	if grace > 0 {
		if err := send(fd, unix.SIGTERM); err != nil {
			return fmt.Errorf("ending process %d: %w", r.PID, err)
		}
		patience, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if err := wait(patience, fd); err == nil {
			return nil
		}
	}
	if err := send(fd, unix.SIGKILL); err != nil {
		return fmt.Errorf("ending process %d: %w", r.PID, err)
	}
	if err := wait(ctx, fd); err != nil {
		return fmt.Errorf("waiting for process %d to end: %w", r.PID, err)
	}
	return nil
}

// Paused calls f while the process is stopped.
func (r Record) Paused(ctx context.Context, f func() error) error {
	fd, ok, err := r.open()
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("pausing process %d: the process is not running", r.PID)
	}
	defer unix.Close(fd)
	if err := send(fd, unix.SIGSTOP); err != nil {
		return fmt.Errorf("pausing process %d: %w", r.PID, err)
	}
	err = r.waitStopped(ctx)
	if err == nil {
		err = f()
	}
	if resumed := send(fd, unix.SIGCONT); resumed != nil {
		err = errors.Join(err, fmt.Errorf("resuming process %d: %w", r.PID, resumed))
	}
	return err
}

// waitStopped polls until a stop signal has taken effect, because there is no event.
func (r Record) waitStopped(ctx context.Context) error {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		st, err := readStat(r.PID)
		if err != nil || st.state == 'T' {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Wait returns when the process has ended, or with the context's error.
func (r Record) Wait(ctx context.Context) error {
	fd, ok, err := r.open()
	if err != nil || !ok {
		return err
	}
	defer unix.Close(fd)
	return wait(ctx, fd)
}

// open returns a descriptor of the recorded process, or false if it has ended. It opens the descriptor before it
// compares the start time, so that the result is valid for the descriptor.
func (r Record) open() (int, bool, error) {
	fd, err := unix.PidfdOpen(r.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("opening process %d: %w", r.PID, err)
	}
	if !r.Alive() {
		unix.Close(fd)
		return 0, false, nil
	}
	return fd, true, nil
}

// send sends a signal, unless the process has ended.
func send(fd int, sig unix.Signal) error {
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

const pollInterval = 50 * time.Millisecond

// wait returns when the descriptor's process has ended.
func wait(ctx context.Context, fd int) error {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(pollInterval.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// KillIn kills (SIGKILL) every process in the namespaces, except the calling one, and returns when none is left. It
// skips missing namespaces.
func KillIn(ctx context.Context, namespaces []network.Namespace) error {
	inside := map[string]bool{}
	for _, n := range namespaces {
		var st unix.Stat_t
		if n.Exists() && unix.Stat(n.Path(), &st) == nil {
			inside[fmt.Sprintf("net:[%d]", st.Ino)] = true
		}
	}
	for len(inside) > 0 {
		fds, err := openIn(inside)
		if err != nil {
			return fmt.Errorf("ending processes in network namespaces: %w", err)
		}
		for _, fd := range fds {
			err = errors.Join(err, send(fd, unix.SIGKILL))
		}
		for _, fd := range fds {
			err = errors.Join(err, wait(ctx, fd))
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("ending processes in network namespaces: %w", err)
		}
		if len(fds) == 0 { // no process was left to fork another one
			return nil
		}
	}
	return nil
}

// openIn returns a descriptor of each process in the namespaces, which are named as in /proc's links.
func openIn(namespaces map[string]bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if link, err := os.Readlink("/proc/" + e.Name() + "/ns/net"); err != nil || !namespaces[link] {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		// Check again: the descriptor may belong to a later process with this PID.
		if link, err := os.Readlink("/proc/" + e.Name() + "/ns/net"); err != nil || !namespaces[link] {
			unix.Close(fd)
			continue
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

type stat struct {
	state     byte
	cpu       time.Duration // user and system CPU time
	startTime uint64
}

// clockTick is the unit of times in /proc/PID/stat, the same on all Linux machines (USER_HZ).
const clockTick = 10 * time.Millisecond

// readStat reads /proc/PID/stat (proc(5)). The name in parentheses may contain parentheses and spaces, so fields are
// counted from the last ')'.
func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(data))
}

func parseStat(line string) (stat, error) {
	const state, userTime, systemTime, startTime = 0, 11, 12, 19 // proc(5)'s fields 3, 14, 15 and 22, from the one after the name
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) <= startTime {
		return stat{}, fmt.Errorf("reading process state: unexpected line %q", line)
	}
	var numbers [3]uint64
	for i, field := range []int{userTime, systemTime, startTime} {
		var err error
		if numbers[i], err = strconv.ParseUint(fields[field], 10, 64); err != nil {
			return stat{}, fmt.Errorf("reading process state: %w", err)
		}
	}
	return stat{state: fields[state][0], cpu: time.Duration(numbers[0]+numbers[1]) * clockTick, startTime: numbers[2]}, nil
}

func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}
