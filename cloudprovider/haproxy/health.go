package haproxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
)

// changed is in what HAProxy logs when a server goes up or down.
var changed = regexp.MustCompile(`Server ([^ /]+)/([^ /]+) is (?:UP|DOWN)[ ,.]`)

// listenLog opens the socket that HAProxy logs to, which a former hub may have left.
func listenLog(path string) (*net.UnixConn, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listening for HAProxy's log: %w", err)
	}
	return conn, nil
}

// readLog calls f with the section of each server that goes up or down, until the socket is closed.
func readLog(conn *net.UnixConn, f func(section string)) {
	buffer := make([]byte, 8<<10)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if m := changed.FindSubmatch(buffer[:n]); m != nil {
			f(string(m[1]))
		}
	}
}
