package logfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// timeFormat is RFC 3339 with nanoseconds, of one length, so that lines align.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// Options say which part of a log to read; the zero value is all of it.
type Options struct {
	// Follow waits for more until the log is closed.
	Follow bool
	// Tail is the number of lines to begin before the end; nil is all.
	Tail *int64
	// Since leaves out older lines.
	Since time.Time
	// Timestamps puts the time before each line.
	Timestamps bool
	// Limit ends the output after so many bytes; 0 is no limit.
	Limit int64
	// Stream is Stdout or Stderr, or empty for both.
	Stream string
}

// Read writes the log at path to w. live is the Log when it is still being
// written, else nil. A file that is absent is an empty log. Following ends
// without an error when ctx is done.
func Read(ctx context.Context, path string, live *Log, o Options, w io.Writer) error {
	out := &printer{Options: o, w: w}
	current, past, rotated, err := openBoth(path, live)
	if err != nil {
		return err
	}
	defer func() { current.Close() }()
	defer past.Close()
	if err := out.start(past, current); err != nil {
		return ignoreLimit(err)
	}
	reader := &tailReader{r: bufio.NewReaderSize(current, 64<<10)}
	for {
		var now int
		var closed bool
		var changed <-chan struct{}
		if live != nil { // before reading: what comes later closes changed
			now, closed, changed = live.state()
		}
		if err := out.copy(reader); err != nil {
			return ignoreLimit(err)
		}
		if now != rotated { // current has become the older file, and is read
			rotated = now
			current.Close()
			if current, err = open(path); err != nil {
				return err
			}
			reader = &tailReader{r: bufio.NewReaderSize(current, 64<<10)}
			continue
		}
		if !o.Follow || live == nil || closed {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// openBoth opens the newest file and the one before, as they are at one time,
// and tells how many rotations that was after.
func openBoth(path string, live *Log) (current, past *os.File, rotated int, err error) {
	for {
		if live != nil {
			rotated, _, _ = live.state()
		}
		if current, err = open(path); err != nil {
			return nil, nil, 0, err
		}
		if past, err = open(older(path)); err != nil {
			current.Close()
			return nil, nil, 0, err
		}
		if live == nil {
			return current, past, 0, nil
		}
		if now, _, _ := live.state(); now == rotated {
			return current, past, rotated, nil
		}
		current.Close()
		past.Close()
	}
}

// open opens a file, an empty one when it is absent.
func open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open(os.DevNull)
	}
	if err != nil {
		return nil, fmt.Errorf("reading log: %w", err)
	}
	return f, nil
}

var errLimit = errors.New("limit reached")

func ignoreLimit(err error) error {
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// tailReader reads lines from a file that may end within one just now.
type tailReader struct {
	r    *bufio.Reader
	part []byte
}

// next returns the next complete line, without its end, or io.EOF.
func (t *tailReader) next() ([]byte, error) {
	text, err := t.r.ReadBytes('\n')
	t.part = append(t.part, text...)
	if err != nil {
		return nil, err
	}
	line := t.part[:len(t.part)-1]
	t.part = nil
	return line, nil
}

// entry is a line of the file, taken apart.
type entry struct {
	time, stream []byte
	full         bool
	text         []byte
}

func parse(line []byte) (entry, bool) {
	fields := bytes.SplitN(line, []byte(" "), 4)
	if len(fields) != 4 || len(fields[2]) != 1 {
		return entry{}, false
	}
	return entry{time: fields[0], stream: fields[1], full: fields[2][0] == 'F', text: fields[3]}, true
}

// printer writes entries as the options say.
type printer struct {
	Options
	w       io.Writer
	written int64
	inLine  bool // the last entry was a partial line
}

// start writes the older file and brings current to where reading goes on.
func (p *printer) start(past, current *os.File) error {
	if p.Tail == nil {
		return p.copy(&tailReader{r: bufio.NewReader(past)})
	}
	keep := int(min(max(*p.Tail, 0), 1<<20))
	var last [][]byte
	for _, f := range []*os.File{past, current} {
		lines := &tailReader{r: bufio.NewReader(f)}
		for {
			line, err := lines.next()
			if err != nil {
				// What is there of an unfinished line is read again.
				if _, err := current.Seek(-int64(len(lines.part)), io.SeekCurrent); err != nil && f == current {
					return err
				}
				break
			}
			if !p.wanted(line) {
				continue
			}
			if last = append(last, line); len(last) > 2*keep+64 {
				last = append([][]byte(nil), last[len(last)-keep:]...)
			}
		}
	}
	for _, line := range last[max(0, len(last)-keep):] {
		if err := p.print(line); err != nil {
			return err
		}
	}
	return nil
}

// copy writes all complete lines that are there.
func (p *printer) copy(lines *tailReader) error {
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading log: %w", err)
		}
		if p.wanted(line) {
			if err := p.print(line); err != nil {
				return err
			}
		}
	}
}

func (p *printer) wanted(line []byte) bool {
	e, ok := parse(line)
	if !ok || p.Stream != "" && p.Stream != string(e.stream) {
		return false
	}
	if p.Since.IsZero() {
		return true
	}
	at, err := time.Parse(timeFormat, string(e.time))
	return err == nil && !at.Before(p.Since)
}

func (p *printer) print(line []byte) error {
	e, _ := parse(line)
	var out []byte
	if p.Timestamps && !p.inLine {
		out = append(append(out, e.time...), ' ')
	}
	out = append(out, e.text...)
	if p.inLine = !e.full; e.full {
		out = append(out, '\n')
	}
	if p.Limit > 0 && p.written+int64(len(out)) > p.Limit {
		out = out[:p.Limit-p.written]
	}
	n, err := p.w.Write(out)
	p.written += int64(n)
	if err == nil && p.Limit > 0 && p.written >= p.Limit {
		err = errLimit
	}
	return err
}
