package render

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
)

// HubName is the hub's value of LabelName, and the name of its objects.
const HubName = "atoll-hub"

// Hub is what a person chooses about the hub of a clusterset. All but the clusterset has a
// usual value.
type Hub struct {
	// Clusterset is the clusterset's namespace on the broker.
	Clusterset string
	// NoWorkloads leaves out what runs: the program is run otherwise.
	NoWorkloads bool
	// Registry, Tag and Replicas are as of Member.
	Registry, Tag string
	Replicas      int32
	// HAProxyImage is one that has haproxy in its path, which carries load balancers in a container beside the hub's; without it
	// there is no such container.
	HAProxyImage string
	// HostNetwork has the pods be in their nodes' network, so that load balancers can have these' addresses.
	HostNetwork bool
	// LowPorts lets load balancers listen below 1024 there.
	LowPorts bool
	// NodeSelector says by labels on which nodes the pods run; none means any.
	NodeSelector map[string]string
	// Args are further arguments of the hub.
	Args []string
}

// Validate returns an error that says what to do about choices that do not go together.
func (h Hub) Validate() error {
	switch {
	case h.LowPorts && !h.HostNetwork:
		return errors.New("--low-ports is for --host-network: pods in a network of their own may listen at any port")
	case h.NoWorkloads && (h.HAProxyImage != "" || h.HostNetwork || len(h.NodeSelector) > 0):
		return errors.New("--haproxy-image, --host-network and --node-selector are about pods, and with --no-workloads there are none")
	}
	return nil
}

// Manifests returns what a broker has for a hub: custom resource definitions, and the objects
// that need those, in the order in which they are applied.
func (h Hub) Manifests() (crds, objects []*unstructured.Unstructured) {
	crds = install.MustParse(deploy.HubCRDs()...)
	objects = slices.Concat(install.MustParse(deploy.Hub()...), install.Objects(rights.HubAccess(h.Clusterset)...))
	if h.HostNetwork {
		unrestrict(objects)
	}
	if !h.NoWorkloads {
		objects = append(objects, h.workload()...)
	}
	return crds, objects
}
