// Package target has the flags that select clusters.
package target

import (
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// Cluster selects a kubeconfig and context; the zero value means kubectl's defaults.
type Cluster struct {
	Kubeconfig string
	Context    string
}

// AddFlags adds the flags.
func (c *Cluster) AddFlags(flags *pflag.FlagSet) {
	c.addKubeconfigFlag(flags)
	flags.StringVar(&c.Context, "context", "", "context of the kubeconfig; default is the current context")
}

func (c *Cluster) addKubeconfigFlag(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig file; default is $KUBECONFIG or ~/.kube/config")
}

// Command returns the cluster for printed commands. It always names the context, because the current one may change.
func (c *Cluster) Command() command.Cluster {
	context := c.Context
	if context == "" {
		if raw, err := c.Loader().RawConfig(); err == nil {
			context = raw.CurrentContext
		}
	}
	return command.At(c.Kubeconfig, context)
}

// Config returns the cluster's client configuration, without client-side throttling.
func (c *Cluster) Config() (*rest.Config, error) {
	config, err := c.Loader().ClientConfig()
	if err != nil {
		return nil, c.explain(err)
	}
	config.QPS = -1
	return config, nil
}
