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

// Lab is what scenarios need of a lab. Clusters are named c1, c2, …, and
// Broker where an API server is meant.
type Lab interface {
	// Shape tells what lab it is.
	Shape() Shape
	// Do runs a program against a cluster until it ends or ctx is done.
	Do(ctx context.Context, cluster string, command Command) Result
	// CreateNamespace creates a namespace and returns when pods can be created in it.
	CreateNamespace(ctx context.Context, cluster, namespace string) error
	// DeleteNamespace deletes a namespace, if it exists, and returns when it is gone.
	DeleteNamespace(ctx context.Context, cluster, namespace string) error
	// Cut stops all traffic between two clusters, or a cluster and the broker.
	Cut(ctx context.Context, a, b string) error
	// Heal undoes Cut, and HealAll every cut.
	Heal(ctx context.Context, a, b string) error
	HealAll(ctx context.Context) error
	// Kill ends one of a cluster's programs, CLUSTER/UNIT, without warning.
	Kill(ctx context.Context, unit string) error
	// Start starts what Kill ended and returns when it is ready.
	Start(ctx context.Context, unit string) error
	// Snapshot keeps a copy of the broker's data under a name, and Restore puts it back to that.
	Snapshot(ctx context.Context, name string) error
	Restore(ctx context.Context, name string) error
	// Wipe takes everything from the broker.
	Wipe(ctx context.Context) error
	// Rejoin makes a clusterset on the broker where there is none, and has clusters join it anew.
	Rejoin(ctx context.Context, clusters ...string) error
	// Rename has a cluster leave the clusterset, and join it under another id.
	Rename(ctx context.Context, cluster, id string) error
}

// Command is one call of a program.
type Command struct {
	// Program is kubectl, atoll or helm, which reach the cluster, helm in the repository's folder; or shell, for the script in
	// Stdin; or another program of the host, which runs in the network of the cluster's first node, with the cluster's own DNS.
	Program string
	Args    []string
	Stdin   string
	TTY     bool // run it on a pseudo-terminal, as a person would
	// Folder is where a shell runs, as other programs of the host do. Programs in its script are atoll, kubectl and helm, which know
	// all clusters by their contexts; the given one's is the current one.
	Folder string
}

// Result is what a program left.
type Result struct {
	Stdout, Stderr string
	Err            error // nil when it ended with 0
}

// text joins both outputs for a person to read.
func (r Result) text() string {
	if r.Stdout != "" && r.Stderr != "" && !strings.HasSuffix(r.Stdout, "\n") {
		return r.Stdout + "\n" + r.Stderr
	}
	return r.Stdout + r.Stderr
}

// do runs a program. The error carries what it said.
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

// realLab is a lab that runs.
type realLab struct {
	*lab.Lab
	getters *sync.Map // from a cluster to its *getter
}

// Use makes a running lab one for scenarios.
func Use(l *lab.Lab) Lab { return realLab{l, &sync.Map{}} }

func (r realLab) Shape() Shape {
	s := Shape{Shape: r.Spec.Shape, Empty: r.Spec.Bare}
	s.Name = ""
	return s
}

// Do runs a program as a person would, but for what of kubectl needs no process (see get and inPod).
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
		// The discovery cache is the lab's own: labs use the same ports one after the other.
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

// outputs runs the command and keeps what it writes.
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

// get answers what needs no kubectl.
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

// inPod is a "kubectl exec -n NAMESPACE POD -- PROGRAM…" for clients, which need the pod's network, files and environment. It does
// without kubectl, the kubelet and runc, which take longer than all the requests that scripts send from pods.
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
	folder := filepath.Join(r.Dir(cluster), "helm") // labs use the same ports one after the other
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	return outputs(cmd, command)
}

// shell runs a script. What programs write to both outputs comes in one text, in which each line of the script stands before
// what it says.
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
		// Labs have the same addresses one after the other, and kubectl and helm remember what was at one.
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
	// Linux ends a terminal whose last user has gone with EIO.
	if _, err = io.Copy(&output, terminal); errors.Is(err, syscall.EIO) {
		err = nil
	}
	err = errors.Join(err, cmd.Wait())
	return Result{Stdout: strings.ReplaceAll(output.String(), "\r\n", "\n"), Err: err}
}

// namespaceTime limits the deletion of a namespace.
const namespaceTime = 90 * time.Second

// core returns a client with a connection of its own. A shared connection can lead to an API server that a scenario has
// killed or cut off. A kubectl process for each namespace and cluster would cost a minute of processor time in all.
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
