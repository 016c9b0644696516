package lab

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The users of a cluster's own programs in the default RBAC policy, by kubeconfig name.
var programUsers = map[string]struct {
	user   string
	groups []string
}{
	"admin":              {"admin", []string{"system:masters"}},
	"controller-manager": {"system:kube-controller-manager", nil},
	"scheduler":          {"system:kube-scheduler", nil},
	"kube-proxy":         {"system:kube-proxy", nil},
}

// UserKubeconfig returns a kubeconfig with a client certificate for a user of a cluster or the broker. It works inside
// the lab's network; with control planes only, anywhere on this machine. RBAC decides what the user may do.
func (l *Lab) UserKubeconfig(cluster, user string, groups ...string) ([]byte, error) {
	c, err := l.Spec.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	config, err := l.kubeconfig(c, c.APIServer, user, groups)
	if err != nil {
		return nil, err
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig of %s: %w", user, err)
	}
	return data, nil
}

// RESTConfig returns a cluster administrator's client configuration for this machine, without client-side throttling.
// The context is c1 to cN or broker.
func (l *Lab) RESTConfig(context string) (*rest.Config, error) {
	loader := &clientcmd.ClientConfigLoadingRules{ExplicitPath: l.Kubeconfig()}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loader, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the lab's kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

func (l *Lab) writeKubeconfigs(c *Cluster) error {
	for name, u := range programUsers {
		config, err := l.kubeconfig(c, c.APIServer, u.user, u.groups)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(filepath.Join(l.Dir(c.Name), name+".conf"), config); err != nil {
			return err
		}
	}
	return nil
}

// writeMergedKubeconfig writes the lab's kubeconfig, with c1 as current context.
func (l *Lab) writeMergedKubeconfig() error {
	merged := api.NewConfig()
	for i := range l.Spec.Clusters {
		c := &l.Spec.Clusters[i]
		admin := programUsers["admin"]
		config, err := l.kubeconfig(c, c.Loopback, admin.user, admin.groups)
		if err != nil {
			return err
		}
		merged.Clusters[c.Name] = config.Clusters[c.Name]
		merged.AuthInfos[c.Name] = config.AuthInfos[c.Name]
		merged.Contexts[c.Name] = config.Contexts[c.Name]
	}
	merged.CurrentContext = l.Spec.Clusters[0].Name
	return writeKubeconfig(l.Kubeconfig(), merged)
}

// kubeconfig returns a kubeconfig with one context, named after the cluster.
func (l *Lab) kubeconfig(c *Cluster, server netip.AddrPort, user string, groups []string) (*api.Config, error) {
	ca, err := l.authority(c)
	if err != nil {
		return nil, err
	}
	pair, err := ca.client(user, groups...)
	if err != nil {
		return nil, err
	}
	caPEM, err := os.ReadFile(l.pki(c, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority of %s: %w", c.Name, err)
	}
	config := api.NewConfig()
	config.Clusters[c.Name] = &api.Cluster{Server: "https://" + server.String(), CertificateAuthorityData: caPEM}
	config.AuthInfos[c.Name] = &api.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
	config.Contexts[c.Name] = &api.Context{Cluster: c.Name, AuthInfo: c.Name}
	config.CurrentContext = c.Name
	return config, nil
}

func writeKubeconfig(path string, config *api.Config) error {
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return writeFile(path, data, 0o600)
}
