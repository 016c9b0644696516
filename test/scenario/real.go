package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/charts"
)

// realLab is a lab that runs.
type realLab struct {
	*lab.Lab
	getters *getters
}

// Use makes a running lab one for scenarios.
func Use(l *lab.Lab) Lab { return realLab{l, &getters{of: map[string]*getter{}}} }

func (r realLab) Shape() Shape {
	s := r.Spec.Shape
	return Shape{Clusters: s.Clusters, Nodes: s.Nodes, IPFamily: s.IPFamily, Bare: s.Bare, Empty: s.Bare, Hub: s.Hub, AdvertiseMode: string(s.AdvertiseMode), DNS: string(s.DNS)}
}

// command makes a kubectl command. Its discovery cache is the lab's own: labs
// use the same ports one after the other.
func (r realLab) command(ctx context.Context, cluster string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(r.Spec.Programs, "kubectl"), append([]string{
		"--kubeconfig=" + r.Kubeconfig(), "--context=" + cluster,
		"--cache-dir=" + filepath.Join(r.Dir(cluster), "kubectl-cache"),
	}, args...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

func (r realLab) Kubectl(ctx context.Context, cluster string, command Command) Result {
	if result, err := r.get(ctx, cluster, command); err == nil {
		return result
	}
	cmd := r.command(ctx, cluster, command.Args...)
	if command.TTY {
		return onTerminal(cmd)
	}
	if command.Stdin != "" {
		cmd.Stdin = strings.NewReader(command.Stdin)
	}
	return outputs(cmd)
}

// outputs runs the command and keeps what it writes.
func outputs(cmd *exec.Cmd) Result {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Err: err}
}

// get answers what needs no kubectl.
func (r realLab) get(ctx context.Context, cluster string, command Command) (Result, error) {
	if command.TTY || command.Stdin != "" {
		return Result{}, errNotSimple
	}
	g, err := parseGet(command.Args)
	if err != nil {
		return Result{}, err
	}
	in, err := r.getters.in(cluster, r.RESTConfig)
	if err != nil {
		return Result{}, err
	}
	return in.do(ctx, g)
}

// onTerminal runs the command on a pseudo-terminal of its own.
func onTerminal(cmd *exec.Cmd) Result {
	terminal, err := pty.Start(cmd)
	if err != nil {
		return Result{Err: err}
	}
	defer terminal.Close()
	var output bytes.Buffer
	// Linux ends a terminal whose last user has gone with EIO.
	if _, err = io.Copy(&output, terminal); errors.Is(err, syscall.EIO) {
		err = nil
	}
	err = errors.Join(err, cmd.Wait())
	return Result{Stdout: strings.ReplaceAll(output.String(), "\r\n", "\n"), Err: err}
}

func (r realLab) Atoll(ctx context.Context, cluster string, args ...string) Result {
	cmd := exec.CommandContext(ctx, r.Spec.Atoll, append(slices.Clone(args), "--kubeconfig="+r.Kubeconfig(), "--context="+cluster)...)
	cmd.WaitDelay = time.Second
	return outputs(cmd)
}

func (r realLab) Helm(ctx context.Context, cluster string, args ...string) Result {
	program, err := charts.Helm()
	if err != nil {
		return Result{Err: err}
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(args), "--kubeconfig="+r.Kubeconfig(), "--kube-context="+cluster)...)
	cmd.Dir, cmd.WaitDelay = charts.Root(), time.Second
	folder := filepath.Join(r.Dir(cluster), "helm") // labs use the same ports one after the other
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	return outputs(cmd)
}

func (r realLab) Exec(ctx context.Context, cluster string, args ...string) Result {
	var stdout, stderr bytes.Buffer
	err := r.Lab.Exec(ctx, cluster, args, lab.Streams{Out: &stdout, Err: &stderr})
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Err: err}
}

var forwarding = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+)`)

func (r realLab) PortForward(ctx context.Context, cluster, namespace, pod, port string) (string, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := r.command(ctx, cluster, "port-forward", "-n", namespace, "pod/"+pod, ":"+port)
	said, out, err := os.Pipe()
	if err != nil {
		cancel()
		return "", nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Start()
	out.Close()
	if err != nil {
		cancel()
		said.Close()
		return "", nil, err
	}
	stop := func() {
		cancel()
		_ = cmd.Wait() // it was killed
		said.Close()
	}
	address, err := firstMatch(said, forwarding)
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("kubectl port-forward: %w", err)
	}
	return address, stop, nil
}

// firstMatch reads until the pattern's group is there. What is said later would
// block the writer only after a pipe's worth of it.
func firstMatch(from io.Reader, pattern *regexp.Regexp) (string, error) {
	var text []byte
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		text = append(text, buffer[:n]...)
		if match := pattern.FindSubmatch(text); match != nil {
			return string(match[1]), nil
		}
		if err != nil {
			return "", fmt.Errorf("it ended and said %q", text)
		}
	}
}

func (r realLab) Heal(ctx context.Context, a, b string) error {
	if a == "" {
		return r.HealAll(ctx)
	}
	return r.Lab.Heal(ctx, a, b)
}
