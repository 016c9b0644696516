package join

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

// MemberFlags say what runs in a member cluster, and how.
type MemberFlags struct {
	member    render.Member
	region    string
	podCIDRs  []string
	advertise string
	agentArgs []string
}

// AddFlags lets a person choose.
func (m *MemberFlags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.region, "region", "", "where the cluster is: members of one region come before others where a Service's trafficDistribution prefers what is near")
	flags.StringSliceVar(&m.podCIDRs, "pod-cidr", nil, "range of the cluster's pod addresses, as told to the other members; may be repeated; without, the ranges that the nodes have")
	flags.StringVar(&m.advertise, "advertise-mode", "pods", "what the other clusters send traffic to: pods, where they reach this cluster's, or cluster-ip, where they reach its Service addresses only")
	flags.StringArrayVar(&m.agentArgs, "agent-arg", nil, "a further argument of the agent, as --agent-arg=--lease-timeout=60s; may be repeated")
	flags.StringVar(&m.member.Registry, "registry", render.DefaultRegistry, "where the images atoll-agent and atoll-dns are")
	flags.StringVar(&m.member.Tag, "tag", "", "tag of the images, in place of this program's version")
	flags.Int32Var(&m.member.Replicas, "replicas", 2, "how many pods there are of the agent, of which one leads, and of the DNS server")
	flags.BoolVar(&m.member.NoWorkloads, "no-workloads", false, "leave out what runs: agent and DNS server are run by other means")
}

// Complete checks the flags as the agent itself will, and makes them what is rendered.
func (m *MemberFlags) Complete(into *render.Member) error {
	if m.member.Replicas < 1 {
		return errors.New("--replicas: at least 1 is needed; to run the programs by other means: --no-workloads")
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
