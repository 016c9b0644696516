package container

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// socketPair makes a connected pair of sockets: one to talk through, one to
// hand to a process.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(fds[1]), "control")
	file := os.NewFile(uintptr(fds[0]), "control")
	defer file.Close() // FileConn has a duplicate
	conn, err := net.FileConn(file)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

// rightsReader reads from a socket and keeps the file that comes along, if any.
type rightsReader struct {
	conn *net.UnixConn
	file *os.File
}

func (r *rightsReader) Read(p []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := r.conn.ReadMsgUnix(p, oob)
	if oobn > 0 && r.file == nil {
		file, rightsErr := parseRights(oob[:oobn])
		if rightsErr != nil {
			return n, rightsErr
		}
		r.file = file
	}
	if errors.Is(err, io.EOF) {
		err = io.EOF // unlike Read, ReadMsgUnix wraps it
	}
	return n, err
}

func parseRights(oob []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return nil, fmt.Errorf("parsing a control message: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("parsing the passed files: %w", err)
	}
	unix.CloseOnExec(fds[0])
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "terminal"), nil
}
