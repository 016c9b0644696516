// Package render builds the manifests of a member and of a hub, for the commands, the lab and the charts. What a
// clusterset has on its broker is internal/broker/rights' and internal/install/setup's.
package render

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// LabelName is the label of objects and pods with the name of the program that they are of.
	LabelName = "app.kubernetes.io/name"
	// AgentName is the agent's value of LabelName, and the name of its objects.
	AgentName = "atoll-agent"
	// DNSName is the same of the DNS server's.
	DNSName = "atoll-dns"

	// DefaultRegistry is where the images are published.
	DefaultRegistry = "ghcr.io/atoll-mcs"
	// defaultReplicas survive the loss of one node.
	defaultReplicas = 2
)

// ShowAgentLog is the command that shows the log of a cluster's agents.
func ShowAgentLog(on command.Cluster) string {
	return on.Kubectl("logs deployment/%s -n %s", AgentName, names.SystemNamespace)
}

// ShowPods is the command that shows the state of the pods of one of Atoll's programs in a member, and what happened to them.
func ShowPods(on command.Cluster, program string) string {
	return on.Kubectl("describe pods -n %s -l %s=%s", names.SystemNamespace, LabelName, program)
}

// Member is what a person chooses about what runs in a member cluster. The zero value is what
// most have.
type Member struct {
	// NoWorkloads leaves out what runs: the programs are run otherwise.
	NoWorkloads bool
	// Registry is where the images are, and Tag their tag: DefaultRegistry and this program's
	// version unless they are given.
	Registry, Tag string
	// Replicas is how many pods there are of the agent, and of the DNS server; 2 for 0.
	Replicas int32
	// AgentArgs are arguments of the agent.
	AgentArgs []string
}

// Manifests returns what a member cluster has: custom resource definitions, and the objects
// that need those, in the order in which they are applied.
func (m Member) Manifests() (crds, objects []*unstructured.Unstructured) {
	crds = install.MustParse(deploy.MemberCRDs()...)
	objects = install.MustParse(slices.Concat(deploy.Agent(), deploy.DNS())...)
	if m.NoWorkloads {
		return crds, objects
	}
	return crds, slices.Concat(objects, priority(), m.agent(), m.dns())
}

// AgentImage is the reference of atoll-agent's image.
func (m Member) AgentImage() string { return m.image(AgentName) }

// image is the reference of one of the images.
func (m Member) image(name string) string {
	return cmp.Or(m.Registry, DefaultRegistry) + "/" + name + ":" + cmp.Or(m.Tag, version.String())
}

func (m Member) replicas() int32 { return cmp.Or(m.Replicas, defaultReplicas) }
