package haproxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"sync"
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

// healthLog collects the sections of servers that have gone up or down. However many do so at once, each section is
// looked at once.
type healthLog struct {
	mu      sync.Mutex
	changed map[string]bool
	ready   chan struct{} // has one while there is something in changed, or the end has come
	ended   bool
}

func newLog() *healthLog {
	return &healthLog{changed: map[string]bool{}, ready: make(chan struct{}, 1)}
}

// read takes what HAProxy logs, at once, for it does not wait, until the socket is closed.
func (l *healthLog) read(conn *net.UnixConn) {
	buffer := make([]byte, 8<<10)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			l.add("", true)
			return
		}
		if m := changed.FindSubmatch(buffer[:n]); m != nil {
			l.add(string(m[1]), false)
		}
	}
}

func (l *healthLog) add(section string, end bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = l.ended || end
	if !end {
		l.changed[section] = true
	}
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// handle calls f with the sections that have changed since it was called before, until the end.
func (l *healthLog) handle(f func(sections map[string]bool)) {
	for range l.ready {
		l.mu.Lock()
		sections, ended := l.changed, l.ended
		l.changed = map[string]bool{}
		l.mu.Unlock()
		if ended {
			return
		}
		if len(sections) > 0 {
			f(sections)
		}
	}
}
