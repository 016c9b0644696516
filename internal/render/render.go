// Package render makes the manifests of what Atoll has in a member cluster: the one source
// for the commands, the lab and the charts.
package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/install"
)

const (
	// LabelName is the label of pods with the name of what they run.
	LabelName = "app.kubernetes.io/name"
	// AgentName is the agent's value of LabelName, and the name of its objects.
	AgentName = "atoll-agent"
	// DNSName is the same of the DNS server's.
	DNSName = "atoll-dns"
)

// Member is what a person chooses about what runs in a member cluster.
type Member struct{}

// Manifests returns what a member cluster has: custom resource definitions, and the objects
// that need those, in the order in which they are applied.
func (m Member) Manifests() (crds, objects []*unstructured.Unstructured) {
	return install.MustParse(deploy.MemberCRDs()...), append(install.MustParse(deploy.Agent()...), install.MustParse(deploy.DNS()...)...)
}
