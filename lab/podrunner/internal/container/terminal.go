package container

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal in the /dev/pts that the calling thread sees.
// The master's reads end when it is closed.
func openTerminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlocking a terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("reading a terminal's number: %w", err)
	}
	path := fmt.Sprintf("/dev/pts/%d", number)
	// Not os.OpenFile: the command wants a blocking one.
	slaveFD, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), "/dev/ptmx"), os.NewFile(uintptr(slaveFD), path), nil
}

// ResizeTerminal gives a terminal the sizes that arrive, until stop is closed.
func ResizeTerminal(terminal *os.File, sizes <-chan Size, stop <-chan struct{}) {
	for {
		select {
		case s, ok := <-sizes:
			if !ok {
				return
			}
			setSize(terminal, s)
		case <-stop:
			return
		}
	}
}

// setSize leaves the terminal as it is where that fails: it may be closed.
func setSize(terminal *os.File, s Size) {
	// Not terminal.Fd(), which would make its reads blocking.
	raw, err := terminal.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: s.Width, Row: s.Height})
	})
}
