package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/charts"
)

// Broker is the name of the broker among the clusters of a lab.
const Broker = "broker"

// Lab is the interface of a lab for scenarios. Clusters are named c1, c2, …; where an API
// server is meant, the broker is named Broker.
type Lab interface {
	// Shape returns the shape of the lab.
	Shape() Shape
	// Do runs a program against a cluster until it ends or ctx is done.
	Do(ctx context.Context, cluster string, command Command) Result
	// CreateNamespace creates a namespace and returns when pods can be created in it.
	CreateNamespace(ctx context.Context, cluster, namespace string) error
	// DeleteNamespace deletes a namespace, if it exists, and waits for the deletion.
	DeleteNamespace(ctx context.Context, cluster, namespace string) error
	// Cut stops all traffic between two clusters, or between a cluster and the broker.
	Cut(ctx context.Context, a, b string) error
	// Heal undoes Cut. HealAll undoes every Cut.
	Heal(ctx context.Context, a, b string) error
	HealAll(ctx context.Context) error
	// Kill kills a program of a cluster, CLUSTER/UNIT, with SIGKILL.
	Kill(ctx context.Context, unit string) error
	// Start starts a killed program and returns when the program is ready.
	Start(ctx context.Context, unit string) error
	// Snapshot backs up the broker's data under a name. Restore restores that backup.
	Snapshot(ctx context.Context, name string) error
	Restore(ctx context.Context, name string) error
	// Wipe deletes all data of the broker.
	Wipe(ctx context.Context) error
	// Rejoin creates a clusterset on the broker if there is none, and joins clusters again.
	Rejoin(ctx context.Context, clusters ...string) error
	// Rename removes a cluster from the clusterset and joins it under another id.
	Rename(ctx context.Context, cluster, id string) error
	// UseProxyMode restarts a cluster's kube-proxy in a mode. Empty means the lab's mode.
	UseProxyMode(ctx context.Context, cluster string, mode lab.ProxyMode) error
}

// Command is a call of a program.
type Command struct {
	// Program is kubectl, atoll or helm, which connect to the cluster (helm runs in the
	// repository's folder); or shell, for a script in Stdin; or another program of the host,
	// which runs in the network of the cluster's first node with the cluster's DNS.
	Program string
	Args    []string
	Stdin   string
	TTY     bool // run the program on a pseudo-terminal
	// Folder is the working directory of a shell, which runs like other programs of the host.
	// The script can use atoll, kubectl and helm with a context for each cluster; the current
	// context is that of the given cluster.
	Folder string
}

// Result is the output and the error of a program.
type Result struct {
	Stdout, Stderr string
	Err            error // nil for exit status 0
}

// text joins both outputs.
func (r Result) text() string {
	if r.Stdout != "" && r.Stderr != "" && !strings.HasSuffix(r.Stdout, "\n") {
		return r.Stdout + "\n" + r.Stderr
	}
	return r.Stdout + r.Stderr
}

// do runs a program. The error includes its standard error.
func (r *Run) do(ctx context.Context, cluster string, command Command) Result {
	result := r.lab.Do(ctx, cluster, command)
	if result.Err != nil && result.Stderr != "" {
		result.Err = fmt.Errorf("%w: %s", result.Err, strings.TrimSpace(result.Stderr))
	}
	return result
}

// kubectl runs kubectl in the cluster.
func (r *Run) kubectl(ctx context.Context, cluster string, args ...string) Result {
	return r.do(ctx, cluster, Command{Program: "kubectl", Args: args})
}

// realLab is a running lab.
type realLab struct {
	*lab.Lab
	getters *sync.Map // from a cluster to its *getter
}

// Use returns a running lab as a lab for scenarios.
func Use(l *lab.Lab) Lab { return realLab{l, &sync.Map{}} }

func (r realLab) Shape() Shape {
	s := Shape{Shape: r.Spec.Shape, Empty: r.Spec.Bare}
	s.Name = ""
	return s
}

// Do runs a program. It replaces kubectl where no process is necessary (see get and inPod).
func (r realLab) Do(ctx context.Context, cluster string, command Command) Result {
	args := slices.Clone(command.Args)
	switch command.Program {
	case "kubectl":
		if result, err := r.get(ctx, cluster, command); err == nil {
			return result
		}
		if inPod, err := r.inPod(ctx, cluster, command); err == nil {
			return outputs(inPod, command)
		}
		// Each lab has its own discovery cache, because labs reuse the same ports.
		flags := []string{"--kubeconfig=" + r.Kubeconfig(), "--context=" + cluster, "--cache-dir=" + filepath.Join(r.Dir(cluster), "kubectl-cache")}
		return outputs(exec.CommandContext(ctx, filepath.Join(r.Spec.Programs, "kubectl"), append(flags, args...)...), command)
	case "atoll":
		return outputs(exec.CommandContext(ctx, r.Spec.Atoll, append(args, "--kubeconfig="+r.Kubeconfig(), "--context="+cluster)...), command)
	case "helm":
		return r.helm(ctx, cluster, command)
	case "shell":
		return r.shell(ctx, cluster, command.Folder, command.Stdin)
	default:
		var stdout, stderr bytes.Buffer
		err := r.Exec(ctx, cluster, append([]string{command.Program}, args...), lab.Streams{Out: &stdout, Err: &stderr})
		return Result{Stdout: stdout.String(), Stderr: stderr.String(), Err: err}
	}
}

// outputs runs the command and collects its output.
func outputs(cmd *exec.Cmd, command Command) Result {
	cmd.WaitDelay = time.Second
	if command.TTY {
		return onTerminal(cmd)
	}
	if command.Stdin != "" {
		cmd.Stdin = strings.NewReader(command.Stdin)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Err: err}
}

// get replaces kubectl get.
func (r realLab) get(ctx context.Context, cluster string, command Command) (Result, error) {
	g, err := parseGet(command.Args)
	if err != nil || command.TTY || command.Stdin != "" {
		return Result{}, errNotSimple
	}
	in, err := r.getter(cluster)
	if err != nil {
		return Result{}, err
	}
	return in.do(ctx, g)
}

// inPod replaces "kubectl exec -n NAMESPACE POD -- PROGRAM…" for clients, which need only the
// pod's network, files and environment. kubectl, the kubelet and runc take longer than all
// requests that scripts send from pods.
func (r realLab) inPod(ctx context.Context, cluster string, command Command) (*exec.Cmd, error) {
	args := command.Args
	if command.TTY || len(args) < 6 || args[0] != "exec" || args[1] != "-n" || args[4] != "--" {
		return nil, errNotSimple
	}
	in, err := r.getter(cluster)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := in.client.Get(ctx, client.ObjectKey{Namespace: args[2], Name: args[3]}, pod); err != nil {
		return nil, err
	}
	process, err := lab.PodProcess(pod.UID, "/bin/sh")
	if err != nil {
		return nil, err
	}
	environment, err := os.ReadFile(filepath.Join(process, "environ"))
	if err != nil {
		return nil, err
	}
	enter := []string{"--target", filepath.Base(process), "--net", "--mount", "--uts", "--"}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args[5:]...)...)
	cmd.Env = strings.FieldsFunc(string(environment), func(r rune) bool { return r == 0 })
	return cmd, nil
}

func (r realLab) helm(ctx context.Context, cluster string, command Command) Result {
	program, err := charts.Helm()
	if err != nil {
		return Result{Err: err}
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(command.Args), "--kubeconfig="+r.Kubeconfig(), "--kube-context="+cluster)...)
	cmd.Dir = charts.Root()
	folder := filepath.Join(r.Dir(cluster), "helm") // labs reuse the same ports, so caches must not be shared
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	return outputs(cmd, command)
}

// shell runs a script. The output joins both outputs of all programs; each line of the script
// precedes its output.
func (r realLab) shell(ctx context.Context, cluster, folder, script string) Result {
	helm, err := charts.Helm()
	if err != nil {
		return Result{Err: err}
	}
	script = fmt.Sprintf("exec 2>&1; cd %s; PATH=$PATH:%s; set -v\n%s", folder, filepath.Dir(helm), script)
	file := filepath.Join(folder, ".script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return Result{Err: fmt.Errorf("writing a script: %w", err)}
	}
	argv := []string{
		// Labs reuse the same addresses, and kubectl and helm cache by address.
		"env", "-u", "XDG_CACHE_HOME", "-u", "XDG_CONFIG_HOME", "-u", "XDG_DATA_HOME", "HOME=" + folder,
		"XDG_STATE_HOME=" + filepath.Join(r.Dir(""), "..", "..", ".."), // of atoll/labs/NAME
		"bash", "-e", "-o", "pipefail", file,
	}
	var output bytes.Buffer
	if err = r.Exec(ctx, cluster, argv, lab.Streams{Out: &output, Err: &output}); err != nil {
		last := strings.Split(strings.TrimSpace(output.String()), "\n")
		err = fmt.Errorf("%w: %s", err, strings.Join(last[max(0, len(last)-5):], "\n"))
	}
	return Result{Stdout: output.String(), Err: err}
}

// onTerminal runs the command on a pseudo-terminal of its own.
func onTerminal(cmd *exec.Cmd) Result {
	terminal, err := pty.Start(cmd)
	if err != nil {
		return Result{Err: err}
	}
	defer terminal.Close()
	var output bytes.Buffer
	// Linux returns EIO when the last process has closed the terminal.
	if _, err = io.Copy(&output, terminal); errors.Is(err, syscall.EIO) {
		err = nil
	}
	err = errors.Join(err, cmd.Wait())
	return Result{Stdout: strings.ReplaceAll(output.String(), "\r\n", "\n"), Err: err}
}

// namespaceTime limits the deletion of a namespace.
const namespaceTime = 90 * time.Second

// core returns a client with its own connection. A shared connection may lead to an API server
// that a scenario has killed or cut off. A kubectl process for each namespace and cluster would
// cost a minute of processor time in total.
func (r realLab) core(cluster string) (typedcorev1.CoreV1Interface, error) {
	config, err := r.RESTConfig(cluster)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Dial = new(net.Dialer).DialContext
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.CoreV1(), nil
}

func (r realLab) CreateNamespace(ctx context.Context, cluster, name string) error {
	core, err := r.core(cluster)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := core.Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	// Pods cannot be created before their service account.
	return poll(ctx, func(ctx context.Context) (bool, error) {
		_, err := core.ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func (r realLab) DeleteNamespace(ctx context.Context, cluster, name string) error {
	core, err := r.core(cluster)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, namespaceTime, fmt.Errorf("namespace %s is not gone after %v", name, namespaceTime))
	defer cancel()
	if err := core.Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsConflict(err) {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("deleting namespace %s: %w", name, err)
	}
	return poll(ctx, func(ctx context.Context) (bool, error) {
		_, err := core.Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}
