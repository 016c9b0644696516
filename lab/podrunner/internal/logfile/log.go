// Package logfile keeps what a container writes in a file, line by line in the
// CRI's format (time, stream, P or F for a partial or full line, text), and
// reads it back as `kubectl logs` wants it, also while it grows.
package logfile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Streams of a container.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

const (
	// maxLine is where a line without an end is cut, as container runtimes do.
	maxLine = 16 << 10
	// maxSize is the size at which a file is put aside; one older file is kept.
	// The kubelet's default is the same.
	maxSize = 10 << 20
)

// Log is a container's log that is being written. It is safe for concurrent
// use.
type Log struct {
	path    string
	maxSize int64

	mu      sync.Mutex
	file    *os.File
	size    int64
	rotated int           // how often
	changed chan struct{} // closed and replaced on every change
	closed  bool
}

// Create begins an empty log at path.
func Create(path string) (*Log, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("creating log: %w", err)
	}
	return &Log{path: path, maxSize: maxSize, file: file, changed: make(chan struct{})}, nil
}

// Path is where the log's newest file is.
func (l *Log) Path() string { return l.path }

// Close ends the log: readers that follow it come to an end.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.changed)
	return l.file.Close()
}

// state tells what a reader needs to follow: how often the log was rotated,
// whether it is complete, and a channel that is closed when that changes.
func (l *Log) state() (rotated int, closed bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rotated, l.closed, l.changed
}

// Copy writes everything that comes from r to the log, as lines of one stream,
// and returns at r's end. Each chunk goes to also first, as it comes.
func (l *Log) Copy(stream string, r io.Reader, also func(chunk []byte)) {
	buffer := make([]byte, 32<<10)
	var line []byte
	for {
		n, err := r.Read(buffer)
		if n > 0 {
			also(buffer[:n])
			line = l.writeLines(stream, append(line, buffer[:n]...))
		}
		if err != nil { // also EIO, which is how a terminal ends
			break
		}
	}
	if len(line) > 0 {
		l.write(stream, 'P', line)
	}
}

// writeLines writes the complete lines of text and returns the rest.
func (l *Log) writeLines(stream string, text []byte) []byte {
	for {
		end := bytes.IndexByte(text, '\n')
		switch {
		case end >= 0 && end <= maxLine:
			l.write(stream, 'F', text[:end])
			text = text[end+1:]
		case len(text) >= maxLine:
			l.write(stream, 'P', text[:maxLine])
			text = text[maxLine:]
		default:
			return text
		}
	}
}

// write appends one line. A full disk loses lines; it must not stop the
// container.
func (l *Log) write(stream string, tag byte, text []byte) {
	line := make([]byte, 0, len(text)+64)
	line = time.Now().UTC().AppendFormat(line, timeFormat)
	line = append(append(append(append(line, ' '), stream...), ' ', tag, ' '), text...)
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.size > 0 && l.size+int64(len(line)) > l.maxSize {
		l.rotate()
	}
	n, _ := l.file.Write(line)
	l.size += int64(n)
	close(l.changed)
	l.changed = make(chan struct{})
}

// rotate puts the file aside and begins another. Where that fails the old one
// goes on.
func (l *Log) rotate() {
	if err := os.Rename(l.path, older(l.path)); err != nil {
		return
	}
	file, err := os.Create(l.path)
	if err != nil {
		_ = os.Rename(older(l.path), l.path)
		return
	}
	_ = l.file.Close()
	l.file, l.size = file, 0
	l.rotated++
}

func older(path string) string { return path + ".1" }
