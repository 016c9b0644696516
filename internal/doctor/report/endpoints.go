package report

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Endpoint is an imported endpoint.
type Endpoint struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	Cluster   string `json:"cluster"`
	// Addresses have one IP family.
	Addresses []string      `json:"addresses"`
	Ports     []string      `json:"ports,omitempty"`
	State     EndpointState `json:"state"`
	// Reason is why the endpoint is on standby, or gets no connections at all.
	Reason   string `json:"reason,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	Zone     string `json:"zone,omitempty"`
	// Slice is the EndpointSlice in the queried cluster.
	Slice string `json:"slice"`

	usable   []portKey // the ports that kube-proxy uses
	fallback bool      // kube-proxy uses it while no endpoint is ready: it serves, and terminates or is on standby
}

// EndpointState is the state of an endpoint for clients.
type EndpointState string

// Values of EndpointState.
const (
	EndpointReady       EndpointState = "Ready"
	EndpointNotReady    EndpointState = "NotReady"
	EndpointTerminating EndpointState = "Terminating"
	// EndpointStandby endpoints are ready in their cluster, but get new connections only if no other endpoint is ready.
	EndpointStandby EndpointState = "Standby"
)

// Endpoints lists the surveyed imported endpoints by service, cluster and address.
func Endpoints(s *survey.Survey) []Endpoint { return endpoints(s.Cluster.Slices) }

func endpoints(list []discoveryv1.EndpointSlice) []Endpoint {
	var all []Endpoint
	for _, slice := range list {
		// Where some stand by, the agent writes endpoints whose pods terminate as not serving. Where none does, it wrote others so, too.
		reason, standby := strings.Join(layout.StandbyReasons(&slice), " or "), slices.ContainsFunc(slice.Endpoints, isFallback)
		for _, e := range slice.Endpoints {
			one := Endpoint{
				Namespace: cmp.Or(slice.Labels[names.LabelServiceNamespace], slice.Namespace), Service: slice.Labels[names.LabelServiceName],
				Cluster: slice.Labels[names.LabelSourceCluster], Addresses: e.Addresses, Ports: slicePorts(slice.Ports), State: state(e),
				Hostname: ptr.Deref(e.Hostname, ""), Zone: ptr.Deref(e.Zone, ""), Slice: slice.Name,
				usable: usablePorts(slice.Ports),
			}
			one.fallback = isFallback(e)
			switch {
			case reason == "" || one.State != EndpointTerminating:
			case one.fallback:
				one.State, one.Reason = EndpointStandby, reason
			case !standby:
				one.State, one.Reason = EndpointNotReady, reason
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Endpoint) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Service, b.Service),
			strings.Compare(a.Cluster, b.Cluster), slices.Compare(a.Addresses, b.Addresses))
	})
	return all
}

// isFallback reports whether kube-proxy uses an endpoint while none is ready.
func isFallback(e discoveryv1.Endpoint) bool {
	return state(e) == EndpointTerminating && ptr.Deref(e.Conditions.Serving, true)
}

// state follows the Kubernetes API: unknown readiness means ready.
func state(e discoveryv1.Endpoint) EndpointState {
	switch {
	case ptr.Deref(e.Conditions.Terminating, false):
		return EndpointTerminating
	case ptr.Deref(e.Conditions.Ready, true):
		return EndpointReady
	}
	return EndpointNotReady
}

func slicePorts(list []discoveryv1.EndpointPort) []string {
	var all []string
	for _, p := range list {
		all = append(all, portText(ptr.Deref(p.Name, ""), ptr.Deref(p.Port, 0), ptr.Deref(p.Protocol, corev1.ProtocolTCP)))
	}
	return all
}
