// Package process starts programs that outlive their starter, records them, and later ends exactly these
// processes.
package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/atoll-mcs/atoll/lab/network"
)

// Command says what to start.
type Command struct {
	// Argv is the program, looked up in this program's PATH, and its arguments.
	Argv []string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Dir is the working directory; "" means this program's.
	Dir string
	// Log is the file that standard output and error are appended to.
	Log string
	// Namespace is the network namespace to run in; "" means this program's.
	Namespace network.Namespace
}

// Record identifies a process for as long as the machine runs.
type Record struct {
	PID int `json:"pid"`
	// StartTime is the process's start in clock ticks since boot. With the
	// boot's id it tells the process from a later one of the same id.
	StartTime uint64   `json:"startTime"`
	BootID    string   `json:"bootID"`
	Argv      []string `json:"argv"`
}

// gate holds the program back until its record is safe: it goes on when it
// reads a line, and ends when the starter dies before that. The exec keeps the
// process id and the start time.
const gate = `read -r go || exit 1; exec "$@" </dev/null`

// Start runs the command in a session of its own and writes its record to the
// file record. The program does not begin before the record is written, so that
// no crash of the caller leaves a process without one. A program that fails to
// load says so in its log and is found not to be running.
func Start(c Command, record string) (Record, error) {
	r, err := start(c, record)
	if err != nil {
		return Record{}, fmt.Errorf("starting %s: %w", filepath.Base(c.Argv[0]), err)
	}
	return r, nil
}

func start(c Command, record string) (Record, error) {
	program, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return Record{}, err
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Record{}, err
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", gate, "sh", program}, c.Argv[1:]...)...)
	cmd.Env, cmd.Dir = append([]string{}, c.Env...), c.Dir // never nil, which would mean to inherit
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	open, err := cmd.StdinPipe()
	if err != nil {
		return Record{}, err
	}
	defer open.Close()
	run := cmd.Start
	if c.Namespace != "" {
		run = func() error { return c.Namespace.Do(cmd.Start) }
	}
	if err := run(); err != nil {
		return Record{}, err
	}
	r, err := identify(cmd.Process.Pid, c.Argv)
	if err == nil {
		err = r.save(record)
	}
	if err == nil {
		_, err = io.WriteString(open, "go\n")
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return Record{}, err
	}
	go func() { _ = cmd.Wait() }() // no zombie stays while this program lives
	return r, nil
}

// identify makes the record of a live process.
func identify(pid int, argv []string) (Record, error) {
	boot, err := bootID()
	if err != nil {
		return Record{}, err
	}
	st, err := readStat(pid)
	if err != nil {
		return Record{}, err
	}
	return Record{PID: pid, StartTime: st.startTime, BootID: boot, Argv: argv}, nil
}

// Load reads a record that Start wrote. The error is fs.ErrNotExist where there
// is none.
func Load(path string) (Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Record{}, fmt.Errorf("reading process record: %w", err)
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("reading process record %s: %w", path, err)
	}
	if r.PID <= 0 {
		return Record{}, fmt.Errorf("reading process record %s: %w", path, errors.New("no process id"))
	}
	return r, nil
}

// save writes the record so that a reader sees all of it or nothing.
func (r Record) save(path string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
