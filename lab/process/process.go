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

// Command is a program to start.
type Command struct {
	// Argv is the program, looked up in this program's PATH, and its arguments.
	Argv []string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Dir is the working directory; "" means the current one.
	Dir string
	// Log is the file to which standard output and error are appended.
	Log string
	// Namespace is the network namespace to run in; "" means the current one.
	Namespace network.Namespace
}

// Record identifies a process until the machine reboots.
type Record struct {
	PID int `json:"pid"`
	// StartTime is the process's start in clock ticks since boot. With the boot's id it distinguishes a later process
	// with the same PID.
	StartTime uint64   `json:"startTime"`
	BootID    string   `json:"bootID"`
	Argv      []string `json:"argv"`
}

// gate delays the program until its record is written: it continues when it reads a line, and ends if the starter dies
// first. exec keeps the PID and the start time.
const gate = `read -r go || exit 1; exec "$@" </dev/null`

// Start runs the command in its own session and writes its record to the file record. The program starts only after
// that, so that a crash of the caller leaves no unrecorded process. If a program fails to load, its log says so and it
// is not Alive.
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
	cmd.Env, cmd.Dir = append([]string{}, c.Env...), c.Dir // never nil, which would inherit
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
	go func() { _ = cmd.Wait() }() // avoids a zombie
	return r, nil
}

// identify returns the record of a live process.
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

// Load reads a record that Start wrote, or returns fs.ErrNotExist.
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
		return Record{}, fmt.Errorf("reading process record %s: %w", path, errors.New("the record contains no process id"))
	}
	return r, nil
}

// save writes the record atomically.
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
