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

// Hub configures a clusterset's hub. All fields but Clusterset have defaults.
type Hub struct {
	// Clusterset is the clusterset's namespace on the broker.
	Clusterset string
	// NoWorkloads leaves out the Deployment and what belongs to it.
	NoWorkloads bool
	// Registry, Tag and Replicas are as in Member.
	Registry, Tag string
	Replicas      int32
	// HAProxyImage has haproxy in its path and adds a HAProxy container to the hub's pods; empty adds none.
	HAProxyImage string
	// HostNetwork puts the pods into the host network, so that load balancers can use node addresses.
	HostNetwork bool
	// LowPorts allows load balancers to listen below 1024 with HostNetwork.
	LowPorts bool
	// NodeSelector selects nodes for the pods by labels; empty selects all.
	NodeSelector map[string]string
	// Args are further arguments for the hub.
	Args []string
}

// Validate rejects contradicting fields. The error includes the fix.
func (h Hub) Validate() error {
	switch {
	case h.LowPorts && !h.HostNetwork:
		return errors.New("--low-ports requires --host-network: pods with their own network can listen on any port")
	case h.NoWorkloads && (h.HAProxyImage != "" || h.HostNetwork || len(h.NodeSelector) > 0):
		return errors.New("--haproxy-image, --host-network and --node-selector configure the hub's pods, but --no-workloads installs no pods")
	}
	return nil
}

// Manifests returns a hub's CustomResourceDefinitions, and the objects that need them, in the order to apply them.
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
