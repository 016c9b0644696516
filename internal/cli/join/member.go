package join

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

// MemberFlags are the flags for a member cluster's programs.
type MemberFlags struct {
	member    render.Member
	region    string
	podCIDRs  []string
	advertise string
	agentArgs []string
}

// AddFlags adds the flags.
func (m *MemberFlags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.region, "region", "", "region of the cluster; a Service with trafficDistribution prefers members in the same region")
	flags.StringSliceVar(&m.podCIDRs, "pod-cidr", nil, "pod CIDR of the cluster; may be repeated; default is the pod CIDRs of the nodes")
	flags.StringVar(&m.advertise, "advertise-mode", "pods", "addresses that other clusters send traffic to: pods, or cluster-ip if other clusters reach only this cluster's Service addresses")
	flags.StringArrayVar(&m.agentArgs, "agent-arg", nil, "additional argument of the agent, such as --agent-arg=--lease-timeout=60s; may be repeated")
	flags.StringVar(&m.member.Registry, "registry", render.DefaultRegistry, "registry of the images atoll-agent and atoll-dns")
	flags.StringVar(&m.member.Tag, "tag", "", "tag of the images; default is the version of this program")
	flags.Int32Var(&m.member.Replicas, "replicas", 2, "number of pods of the agent, and number of pods of the DNS server")
	flags.BoolVar(&m.member.NoWorkloads, "no-workloads", false, "do not install the Deployments of the agent and the DNS server, for example if the programs run outside the cluster")
}

// Complete validates the flags like the agent, and converts them to what is rendered.
func (m *MemberFlags) Complete(into *render.Member) error {
	if m.member.Replicas < 1 {
		return errors.New("--replicas must be at least 1. If the programs run outside the cluster, use --no-workloads")
	}
	var args []string
	if m.region != "" {
		args = append(args, "--region="+m.region)
	}
	for _, cidr := range m.podCIDRs {
		args = append(args, "--pod-cidr="+cidr)
	}
	if m.advertise != "pods" {
		args = append(args, "--advertise-mode="+m.advertise)
	}
	args = append(args, m.agentArgs...)
	var options agent.Options
	flags := pflag.NewFlagSet("atoll-agent", pflag.ContinueOnError)
	flags.Usage = func() {}
	options.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("the agent's arguments: %w", err)
	}
	if err := options.Validate(); err != nil {
		return err
	}
	*into = m.member
	into.AgentArgs = args
	return nil
}
