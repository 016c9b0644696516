package target

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrUsage is in the chain of errors that are the caller's own: what is asked for makes no sense.
var ErrUsage = errors.New("invalid request")

// Scoped is a cluster, how to reach its broker from here, and what part of the cluster is
// meant.
type Scoped struct {
	Cluster
	// BrokerServer is the broker's URL as this program reaches it; empty means the member's.
	BrokerServer string

	namespace string
	all       bool
}

// AddFlags lets a person choose the cluster and the way to the broker.
func (s *Scoped) AddFlags(flags *pflag.FlagSet) {
	s.Cluster.AddFlags(flags)
	flags.StringVar(&s.BrokerServer, "broker-server", "", "the broker's URL as this machine reaches it, where that is not the cluster's")
}

// AddNamespaceFlags lets a person choose one namespace, or all.
func (s *Scoped) AddNamespaceFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace, in place of the context's")
	flags.BoolVarP(&s.all, "all-namespaces", "A", false, "all namespaces")
}

// Namespaces returns the chosen namespace, that of the kubeconfig's context where none was
// chosen, or nothing for all.
func (s *Scoped) Namespaces() (string, error) {
	if s.all && s.namespace != "" {
		return "", fmt.Errorf("%w: --all-namespaces and --namespace exclude each other", ErrUsage)
	}
	if s.all {
		return "", nil
	}
	return s.Namespace(s.namespace)
}

// Namespace returns the given namespace, or that of the kubeconfig's context where there is none.
func (c *Cluster) Namespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	namespace, _, err := c.loader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return namespace, nil
}

func (c *Cluster) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
}
