// Package render builds the manifests of a member and of a hub, for the commands, the lab and the charts. Those of a
// clusterset's broker are in internal/broker/rights and internal/install/setup.
package render

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// LabelName labels objects and pods with the name of their program.
	LabelName = "app.kubernetes.io/name"
	// AgentName is the agent's value of LabelName, and the name of its objects.
	AgentName = "atoll-agent"
	// DNSName is the DNS server's value of LabelName, and the name of its objects.
	DNSName = "atoll-dns"

	// DefaultRegistry has the published images.
	DefaultRegistry = "ghcr.io/atoll-mcs"
	// defaultReplicas tolerates the loss of one node.
	defaultReplicas = 2
)

// ShowAgentLog returns the command that shows the log of a cluster's agents.
func ShowAgentLog(on command.Cluster) string {
	return on.Kubectl("logs deployment/%s -n %s", AgentName, names.SystemNamespace)
}

// ShowPods returns the command that describes the pods of one of Atoll's programs in a member.
func ShowPods(on command.Cluster, program string) string {
	return on.Kubectl("describe pods -n %s -l %s=%s", names.SystemNamespace, LabelName, program)
}

// Member configures Atoll in a member cluster. The zero value has the defaults.
type Member struct {
	// NoWorkloads leaves out the Deployments and what belongs to them.
	NoWorkloads bool
	// Registry and Tag are those of the images: by default DefaultRegistry and this program's version.
	Registry, Tag string
	// Replicas is the number of pods of each program; 0 means 2.
	Replicas int32
	// AgentArgs are arguments for the agent.
	AgentArgs []string
	// ClosedNamespaces are patterns of more namespaces that are closed to exports, as the agent's flag closes them to imports.
	ClosedNamespaces []string
	// AgentEnv are environment variables of the agent's container, for example HTTPS_PROXY.
	AgentEnv []corev1.EnvVar
	// Resources change the requests and limits of both programs.
	Resources Resources
	// Prefer is the cluster's default TrafficPolicy.
	Prefer Preference
}

// Manifests returns a member's CustomResourceDefinitions, and the objects that need them, in the order to apply them.
func (m Member) Manifests() (crds, objects []*unstructured.Unstructured) {
	crds = install.MustParse(deploy.MemberCRDs()...)
	objects = append(install.MustParse(slices.Concat(deploy.Agent(), deploy.DNS())...), install.Objects(m.Prefer.objects()...)...)
	closeToExports(objects, m.ClosedNamespaces)
	if m.NoWorkloads {
		return crds, objects
	}
	return crds, slices.Concat(objects, priority(), m.agent(), m.dns())
}

// AgentImage returns atoll-agent's image.
func (m Member) AgentImage() string { return m.image(AgentName) }

// image returns the reference of an image. That of a release has the image's digest: it is the same in every registry.
func (m Member) image(name string) string {
	reference := cmp.Or(m.Registry, DefaultRegistry) + "/" + name + ":"
	if m.Tag != "" {
		return reference + m.Tag
	}
	return reference + version.String() + version.Digest(name)
}

func (m Member) replicas() int32 { return cmp.Or(m.Replicas, defaultReplicas) }
