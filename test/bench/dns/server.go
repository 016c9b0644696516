package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/kubernetes" // registers itself
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/atoll-mcs/atoll/internal/coredns"
)

// The order of plugins is internal/coredns's; kubernetes stands where it does in CoreDNS.
func init() {
	at := slices.Index(dnsserver.Directives, "clusterset")
	dnsserver.Directives = slices.Insert(slices.Clone(dnsserver.Directives), at, "kubernetes")
}

// newServer is the program that all servers are: CoreDNS with all their plugins, of which
// each has others in its Corefile. It takes commands on its standard input and ends with it.
func newServer() *cobra.Command {
	var corefile string
	var cpus []int
	command := &cobra.Command{
		Use: "server", Short: "Run a DNS server until standard input ends", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := pin(cpus); err != nil {
				return err
			}
			text, err := os.ReadFile(corefile)
			if err != nil {
				return err
			}
			server, err := coredns.Start(string(text))
			if err != nil {
				return fmt.Errorf("starting a server with %s: %w", corefile, err)
			}
			return errors.Join(obey(cmd.InOrStdin(), cmd.OutOrStdout()), coredns.Stop(server))
		},
	}
	command.Flags().StringVar(&corefile, "corefile", "", "configuration of CoreDNS")
	command.Flags().IntSliceVar(&cpus, "cpus", nil, "processors to run on")
	return command
}

// pin keeps this process on some of the machine's processors.
func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	// Every thread: those that there are, and by inheritance all others.
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		var tid int
		if _, err := fmt.Sscan(t.Name(), &tid); err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// memory is what a server has in memory after a collection, in bytes.
type memory struct {
	Heap     uint64 `json:"heap"`     // live objects
	Resident uint64 `json:"resident"` // of the process
}

// obey answers each line of commands: "memory"; "profile FILE", which lasts until the next
// command, whatever that is.
func obey(commands io.Reader, answers io.Writer) error {
	profiling := false
	for lines := bufio.NewScanner(commands); lines.Scan(); {
		if profiling {
			pprof.StopCPUProfile()
			profiling = false
		}
		command, argument, _ := strings.Cut(lines.Text(), " ")
		var answer any = "done"
		switch command {
		case "memory":
			answer = measure()
		case "profile":
			f, err := os.Create(argument)
			if err != nil {
				return err
			}
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			profiling = true
		}
		if err := json.NewEncoder(answers).Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func measure() memory {
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what finalizers have let go of
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m := memory{Heap: stats.HeapAlloc}
	var pages, resident uint64
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		fmt.Sscan(string(data), &pages, &resident)
	}
	m.Resident = resident * uint64(os.Getpagesize())
	return m
}

// server is a DNS server that runs.
type server struct {
	kind
	address string // host:port
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	ended   chan struct{} // closed when the process is gone
}

// start starts a server, and returns when it answers right.
func (b *bench) start(ctx context.Context, k kind) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, k.name+".Corefile")
	if err := os.WriteFile(file, []byte(k.corefile(b, port)), 0o600); err != nil {
		return nil, err
	}
	args := []string{"server", "--corefile", file}
	for _, cpu := range b.serverCPUs {
		args = append(args, "--cpus", fmt.Sprint(cpu))
	}
	s := &server{kind: k, address: fmt.Sprintf("127.0.0.1:%d", port), command: exec.Command(b.self, args...), ended: make(chan struct{})}
	s.command.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(1, len(b.serverCPUs))))
	s.command.Stderr = b.log
	if s.in, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = json.NewDecoder(out)
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", k.name, err)
	}
	go func() {
		_, _ = s.command.Process.Wait()
		close(s.ended)
	}()
	if err := b.waitFor(ctx, s); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop ends the server.
func (s *server) stop() {
	s.in.Close()
	<-s.ended
}

// ask sends the server a command and reads its answer.
func (s *server) ask(command string, answer any) error {
	if _, err := fmt.Fprintln(s.in, command); err != nil {
		return fmt.Errorf("asking %s: %w", s.name, err)
	}
	if err := s.out.Decode(answer); err != nil {
		return fmt.Errorf("asking %s: %w", s.name, err)
	}
	return nil
}

func (s *server) memory() (memory, error) {
	var m memory
	return m, s.ask("memory", &m)
}
