package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/atoll-mcs/atoll/lab/network"
)

// Streams are the standard streams of a program; nil means none.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// inNode runs a program with file $1 as /etc/resolv.conf, in its own mount namespace.
const inNode = `mount --bind -- "$1" /etc/resolv.conf && shift && exec "$@"`

// Exec runs a local program in the network of a node, until it ends or ctx is done. The target is CLUSTER (its first
// node), CLUSTER/NODE with the node's name or number (c1/n2), or broker. Names resolve as in a pod of namespace
// default. kubectl and atoll use the cluster, and the others by context. A failed program returns an *exec.ExitError.
func (l *Lab) Exec(ctx context.Context, target string, argv []string, s Streams) error {
	if len(argv) == 0 {
		return fmt.Errorf("%w: name a program to run in %s", ErrUsage, target)
	}
	c, node, err := l.node(target)
	if err != nil {
		return err
	}
	resolv := l.resolvConf(c)
	if resolv != "" {
		argv = append([]string{"unshare", "--mount", "/bin/sh", "-c", inNode, "sh", resolv}, argv...)
	} else { // the shell looks the program up in the PATH below
		argv = append([]string{"/bin/sh", "-c", `exec "$@"`, "sh"}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+strings.Join(l.kubeconfigsFrom(c), ":"),
		"PATH="+strings.Join([]string{l.Spec.Programs, filepath.Dir(l.Spec.Atoll), os.Getenv("PATH")}, ":"), // prefer the lab's kubectl
		"ATOLL_LAB="+l.Name(),
	)
	if err := node.Namespace.Do(cmd.Start); err != nil {
		return fmt.Errorf("running %s in %s: %w", argv[0], target, err)
	}
	return cmd.Wait()
}

// kubeconfigsFrom are the kubeconfigs for the lab's network. The first one has the current context: the given
// cluster's.
func (l *Lab) kubeconfigsFrom(c *Cluster) []string {
	files := []string{l.InClusterKubeconfig(c.Name)}
	for _, other := range l.Spec.Clusters {
		if other.Name != c.Name {
			files = append(files, l.InClusterKubeconfig(other.Name))
		}
	}
	return files
}

// Namespace returns the network namespace of a node; target is as for Exec.
func (l *Lab) Namespace(target string) (network.Namespace, error) {
	_, node, err := l.node(target)
	if err != nil {
		return "", err
	}
	return node.Namespace, nil
}

// node finds CLUSTER or CLUSTER/NODE.
func (l *Lab) node(target string) (*Cluster, *Node, error) {
	cluster, name, _ := strings.Cut(target, "/")
	c, err := l.Spec.Cluster(cluster)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Nodes) == 0 {
		return nil, nil, fmt.Errorf("%w: lab %s consists of control planes only and has no nodes", ErrUsage, l.Name())
	}
	if name == "" {
		return c, &c.Nodes[0], nil
	}
	for i, n := range c.Nodes {
		if name == n.Name || cluster+"-"+name == n.Name {
			return c, &c.Nodes[i], nil
		}
	}
	return nil, nil, fmt.Errorf("%w: cluster %[3]s has no node %[2]q, only nodes n1 to n%[4]d", ErrUsage, name, cluster, len(c.Nodes))
}

// resolvConf is /etc/resolv.conf for programs in a cluster's nodes, or "" to keep the machine's: if the cluster has no
// DNS, or the machine has no such file.
func (l *Lab) resolvConf(c *Cluster) string {
	if _, err := os.Stat("/etc/resolv.conf"); err != nil || len(c.DNS) == 0 {
		return ""
	}
	return filepath.Join(l.Dir(c.Name), "resolv.conf")
}

// writeResolvConf writes a resolv.conf as in a pod of namespace default.
func (l *Lab) writeResolvConf(c *Cluster) error {
	var b strings.Builder
	for _, a := range c.DNS {
		fmt.Fprintf(&b, "nameserver %s\n", a)
	}
	fmt.Fprintf(&b, "search default.svc.%[1]s svc.%[1]s %[1]s\noptions ndots:5\n", clusterDomain)
	return writeFile(filepath.Join(l.Dir(c.Name), "resolv.conf"), []byte(b.String()), 0o644)
}
