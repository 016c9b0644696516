// Package child runs the benchmark program again as a separate process, such as a server under test.
package child

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/lab/process"
)

// Role is the function of a child process. A role writes a line when it is ready, and ends when
// its input is closed.
type Role func(ctx context.Context, args []string, in io.Reader, out io.Writer) error

// NewCommand returns the hidden command that runs roles by name.
func NewCommand(roles map[string]Role) *cobra.Command {
	return &cobra.Command{
		Use: "child ROLE ARG…", Short: "Be a process that is measured", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			role, ok := roles[args[0]]
			if !ok {
				return fmt.Errorf("there is no role %s", args[0])
			}
			return role(cmd.Context(), args[1:], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// Process is a running child.
type Process struct {
	// Line is the line that the child wrote when it was ready.
	Line string
	// Output is what the child writes after that.
	Output io.Reader
	// Record measures the resources of the child.
	Record process.Record

	input   io.Closer
	command *exec.Cmd
}

// Start starts a child and waits for its line. No context kills the child: it ends when its
// input is closed, so that it can clean up.
func Start(env []string, role string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	command := exec.Command(self, append([]string{"child", role}, args...)...)
	command.Env, command.Stderr = append(os.Environ(), env...), os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	p := &Process{Record: process.Record{PID: command.Process.Pid}, input: input, command: command}
	lines := bufio.NewReader(output)
	line, err := lines.ReadString('\n')
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	p.Line, p.Output = strings.TrimSpace(line), lines
	return p, nil
}

// End closes the child's input, so that it writes its last output and ends.
func (p *Process) End() { _ = p.input.Close() }

// Stop stops the child.
func (p *Process) Stop() {
	_ = p.input.Close()
	_ = p.command.Wait() // a failed child has already failed its caller
}
