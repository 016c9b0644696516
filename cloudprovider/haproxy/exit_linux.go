package haproxy

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit returns nil when the process has ended.
func awaitExit(ctx context.Context, pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watching process %d: %w", pid, err)
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("watching process %d: %w", pid, err)
	}
	defer context.AfterFunc(ctx, func() { _ = file.Close() })()
	err = raw.Read(func(fd uintptr) bool { // fails when the file is closed
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
	return err
}
