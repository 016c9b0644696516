// Package target has the flags that say which cluster a command is about.
package target

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

// Cluster is a choice of kubeconfig and context; the zero value is what kubectl would take.
type Cluster struct {
	Kubeconfig string
	Context    string
}

// AddFlags lets a person choose.
func (c *Cluster) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig file, in place of $KUBECONFIG and ~/.kube/config")
	flags.StringVar(&c.Context, "context", "", "context of the kubeconfig, in place of its current one")
}

// Flags repeats the choice for the next command to run.
func (c *Cluster) Flags() string {
	var text string
	if c.Kubeconfig != "" {
		text += " --kubeconfig " + c.Kubeconfig
	}
	if c.Context != "" {
		text += " --context " + c.Context
	}
	return text
}

// Config is how to reach the cluster, without client-side throttling.
func (c *Cluster) Config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
