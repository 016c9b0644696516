package scenario

import (
	"context"
	"fmt"
	"strings"
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
