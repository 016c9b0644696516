package scenario

import (
	"context"
	"strings"
)

// Broker is the name of the broker among the clusters of a lab.
const Broker = "broker"

// Lab is what scenarios need of a lab. Clusters are named c1, c2, …, and
// Broker where an API server is meant.
type Lab interface {
	// Shape tells what lab it is.
	Shape() Shape
	// Kubectl runs kubectl against a cluster until it ends or ctx is done.
	Kubectl(ctx context.Context, cluster string, command Command) Result
	// CreateNamespace creates a namespace and returns when pods can be created in it.
	CreateNamespace(ctx context.Context, cluster, namespace string) error
	// DeleteNamespace deletes a namespace, if it exists, and returns when it is gone.
	DeleteNamespace(ctx context.Context, cluster, namespace string) error
	// Atoll runs the command atoll against a cluster.
	Atoll(ctx context.Context, cluster string, args ...string) Result
	// Helm runs helm against a cluster, in the repository's folder.
	Helm(ctx context.Context, cluster string, args ...string) Result
	// Shell runs a shell's script as Exec does, in a folder of the host. Programs in it are atoll, kubectl and helm, which
	// know all clusters by their contexts; the given one's is the current one.
	Shell(ctx context.Context, cluster, folder, script string) Result
	// Exec runs a host program in the network of a cluster's first node, with
	// the cluster's own DNS.
	Exec(ctx context.Context, cluster string, args ...string) Result
	// PortForward makes a pod's port reachable at the returned address of the
	// host until stop is called.
	PortForward(ctx context.Context, cluster, namespace, pod, port string) (address string, stop func(), err error)
	// Cut stops all traffic between two clusters, or a cluster and the broker.
	Cut(ctx context.Context, a, b string) error
	// Heal undoes Cut; two empty names undo every cut.
	Heal(ctx context.Context, a, b string) error
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

// Command is one call of kubectl.
type Command struct {
	Args  []string
	Stdin string
	TTY   bool // run it on a pseudo-terminal, as a person would
}

// Result is what a program left.
type Result struct {
	Stdout, Stderr string
	Err            error // nil when it ended with 0
}

// text joins both outputs for a person to read.
func (r Result) text() string {
	if r.Stderr == "" {
		return r.Stdout
	}
	if r.Stdout != "" && !strings.HasSuffix(r.Stdout, "\n") {
		return r.Stdout + "\n" + r.Stderr
	}
	return r.Stdout + r.Stderr
}
