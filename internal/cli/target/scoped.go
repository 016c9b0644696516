package target

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
)

// ErrUsage is in the chain of errors for invalid requests.
var ErrUsage = errors.New("invalid request")

// Scoped is a cluster, the way to its broker, and the selected namespaces.
type Scoped struct {
	Cluster
	brokerServer string

	namespace string
	all       bool

	everywhere bool
}

// AddFlags adds the flags for the cluster and the way to the broker.
func (s *Scoped) AddFlags(flags *pflag.FlagSet) {
	s.Cluster.AddFlags(flags)
	s.addBrokerFlag(flags)
}

func (s *Scoped) addBrokerFlag(flags *pflag.FlagSet) {
	flags.StringVar(&s.brokerServer, "broker-server", "", "URL at which this machine reaches the broker; default is the URL of the kubeconfig context with the broker's certificate authority, or else the URL that the cluster uses")
}

// Broker locates the clusterset's broker: by the flag, or else by the certificate authorities in the kubeconfig.
func (s *Scoped) Broker() credential.Locate {
	return func(m credential.Membership) string {
		raw, err := s.Loader().RawConfig()
		if s.brokerServer != "" || err != nil {
			return s.brokerServer
		}
		var known []credential.APIServer
		for _, cluster := range raw.Clusters {
			if cluster.TLSServerName != "" || cluster.ProxyURL != "" {
				continue // its URL is not enough to reach it
			}
			ca := cluster.CertificateAuthorityData
			if len(ca) == 0 && cluster.CertificateAuthority != "" {
				ca, _ = os.ReadFile(cluster.CertificateAuthority) // an unreadable file matches no broker
			}
			known = append(known, credential.APIServer{URL: cluster.Server, CA: ca})
		}
		return m.ByCA(known)
	}
}

// AddNamespaceFlags adds the flags for one namespace or all.
func (s *Scoped) AddNamespaceFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace; default is the namespace of the kubeconfig context")
	flags.BoolVarP(&s.all, "all-namespaces", "A", false, "list objects in all namespaces")
}

// Namespaces returns the selected namespace, else the context's, or "" for all.
func (s *Scoped) Namespaces() (string, error) {
	if s.all && s.namespace != "" {
		return "", fmt.Errorf("%w: --all-namespaces and --namespace are mutually exclusive", ErrUsage)
	}
	if s.all {
		return "", nil
	}
	return s.Namespace(s.namespace)
}

// Namespace returns the given namespace, or else the context's.
func (c *Cluster) Namespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	namespace, _, err := c.Loader().Namespace()
	if err != nil {
		return "", c.explain(err)
	}
	return namespace, nil
}

// rules say which files the kubeconfig consists of.
func (c *Cluster) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	return rules
}

// Loader reads the kubeconfig.
func (c *Cluster) Loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules(), &clientcmd.ConfigOverrides{CurrentContext: c.Context})
}
