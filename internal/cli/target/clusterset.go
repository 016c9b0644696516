package target

import (
	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/install"
)

// Clusterset selects a broker and a clusterset on it.
type Clusterset struct {
	Cluster
	// Name is the clusterset's namespace on the broker.
	Name string
}

// AddFlags adds the flags.
func (c *Clusterset) AddFlags(flags *pflag.FlagSet) {
	c.Cluster.AddFlags(flags)
	AddClustersetFlag(flags, &c.Name)
}

// AddClustersetFlag adds only the flag for the clusterset.
func AddClustersetFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "clusterset", broker.DefaultNamespace, "name of the clusterset, which is also its namespace on the broker")
}

// Connect connects to the cluster. report (may be nil) receives its changes.
func (c *Cluster) Connect(report install.Report) (*install.Target, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	target, err := install.NewTarget(config, report)
	if err != nil {
		return nil, err
	}
	target.On = c.Command()
	return target, nil
}
