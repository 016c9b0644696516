package haproxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"sync"
)

// changed matches HAProxy's log lines about servers that go up or down.
var changed = regexp.MustCompile(`Server ([^ /]+)/([^ /]+) is (?:UP|DOWN)[ ,.]`)

// listenLog opens the socket that HAProxy logs to, and replaces one of a previous hub.
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

// healthLog collects sections with changed servers, so that each section is read once per batch.
type healthLog struct {
	mu      sync.Mutex
	changed map[string]bool
	ready   chan struct{} // holds one value while changed is not empty or the log has ended
	ended   bool
}

func newLog() *healthLog {
	return &healthLog{changed: map[string]bool{}, ready: make(chan struct{}, 1)}
}

// read consumes HAProxy's log until the socket closes. It must not block, because HAProxy drops lines instead of
// waiting.
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

// handle calls f with the sections that changed since its last call, until the log ends.
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
