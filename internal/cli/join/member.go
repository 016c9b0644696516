package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/cli/settings"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MemberFlags are the flags for a member cluster's programs.
type MemberFlags struct {
	member    render.Member
	region    string
	podCIDRs  []string
	services  []string
	advertise string
	agentArgs []string
	resources []string
	env       []string
	options   agent.Options // set by Complete
}

// AddFlags adds the flags.
func (m *MemberFlags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.region, "region", "", "region of the cluster; with trafficDistribution, a Service prefers members in the same region")
	flags.Var(&m.member.Prefer, "prefer", "write the cluster's default TrafficPolicy: with local, connections go to other clusters only if this cluster has no usable endpoint; default is no change")
	flags.StringSliceVar(&m.podCIDRs, "pod-cidr", nil, "pod CIDR of the cluster; may be repeated; default is the pod CIDRs of the nodes")
	flags.StringSliceVar(&m.services, "service-cidr", nil, "Service CIDR of the cluster, as in the API server's --service-cluster-ip-range; may be repeated, once per IP family. Kubernetes 1.33 and later publish the ranges, so the flag is not used there")
	flags.StringVar(&m.advertise, "advertise-mode", "pods", "addresses that other clusters send traffic to: pods, or cluster-ip if other clusters reach only this cluster's Service addresses")
	flags.StringArrayVar(&m.agentArgs, "agent-arg", nil, "additional argument of the agent, such as --agent-arg=--lease-timeout=60s; may be repeated")
	flags.StringSliceVar(&m.resources, "resources", nil, "request or limit of the containers, such as limits.cpu=500m, agent.requests.memory=256Mi or dns.limits.memory= (no limit); may be repeated")
	flags.StringArrayVar(&m.env, "env", nil, "environment variable of the agent, such as --env=HTTPS_PROXY=http://proxy:3128 if the agent connects to the broker through a proxy. With a proxy, also set NO_PROXY to the address of the cluster's own API server. May be repeated")
	flags.StringVar(&m.member.Registry, "registry", render.DefaultRegistry, "registry of the images atoll-agent and atoll-dns")
	flags.StringVar(&m.member.Tag, "tag", "", "tag of the images; default is the version of this program")
	flags.Int32Var(&m.member.Replicas, "replicas", 2, "number of replicas of the agent's Deployment, and of the DNS server's Deployment")
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
	for _, cidr := range m.services {
		args = append(args, "--service-cidr="+cidr)
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
	changes, err := render.ParseResources(m.resources)
	if err != nil {
		return fmt.Errorf("--resources: %w", err)
	}
	env, err := environment(m.env)
	if err != nil {
		return fmt.Errorf("--env: %w", err)
	}
	m.options = options
	*into = m.member
	into.AgentArgs, into.AgentEnv, into.Resources, into.ClosedNamespaces = args, env, changes, options.ClosedNamespaces
	return nil
}

// Restore gives the flags that are not set their values in the cluster, and completes a request. registry is used if no flag has
// ever named one. found is false if the cluster has stored no settings.
func (m *MemberFlags) Restore(ctx context.Context, flags *pflag.FlagSet, cluster *install.Target, registry string, r *setup.JoinRequest) (found bool, err error) {
	if r.Settings, found, err = settings.Keep(ctx, flags, settings.Member, cluster, names.SystemNamespace); err != nil {
		return false, err
	}
	if r.Settings["registry"] == "" {
		m.member.Registry = cmp.Or(registry, render.DefaultRegistry)
	}
	if err := m.Complete(&r.Member); err != nil {
		return false, err
	}
	r.ServiceCIDRs, r.ByClusterIP = m.options.ServiceCIDRs, m.options.AdvertiseMode == string(brokerv1alpha1.AdvertiseClusterIP)
	if !flags.Changed("env") {
		r.Member.AgentEnv, err = setup.Environment(ctx, cluster)
	}
	return found, err
}

// environment parses texts of the form NAME=VALUE.
func environment(texts []string) ([]corev1.EnvVar, error) {
	var all []corev1.EnvVar
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || len(validation.IsEnvVarName(name)) > 0 {
			return nil, fmt.Errorf("%q does not have the form NAME=VALUE", text)
		}
		if slices.ContainsFunc(all, func(e corev1.EnvVar) bool { return e.Name == name }) {
			return nil, fmt.Errorf("%s is set twice", name)
		}
		all = append(all, corev1.EnvVar{Name: name, Value: value})
	}
	return all, nil
}
