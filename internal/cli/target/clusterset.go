package target

import (
	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/install"
)

// Clusterset is a choice of broker, and of one of the clustersets on it.
type Clusterset struct {
	Cluster
	// Name is the clusterset's: its namespace on the broker.
	Name string
}

// AddFlags lets a person choose.
func (c *Clusterset) AddFlags(flags *pflag.FlagSet) {
	c.Cluster.AddFlags(flags)
	AddClustersetFlag(flags, &c.Name)
}

// AddClustersetFlag lets a person choose the clusterset alone.
func AddClustersetFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "clusterset", broker.DefaultNamespace, "the clusterset: its namespace on the broker")
}

// Connect returns the cluster, of which changes are reported to report, nil for nobody.
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
