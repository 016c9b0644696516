package gatewayapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// proxy is what an Envoy proxy of a Gateway would know: a client of the controller's xDS server
// that follows one stream.
type proxy struct {
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	node   *corev3.Node

	mu      sync.Mutex
	changed chan struct{} // closed by each response
	err     error         // the stream's end

	clusters  []*clusterv3.Cluster
	endpoints map[string]string // health by ADDRESS:PORT

	assigned *discoveryv3.DiscoveryResponse // the last endpoints
	names    []string                       // clusters whose endpoints the stream follows
}

// ofRoute begins the names of clusters that stand for backends of the route. Other clusters are
// the controller's own.
const ofRoute = "httproute/" + namespace + "/web/"

// follow opens a stream as a proxy of the Gateway NAMESPACE/NAME.
func follow(ctx context.Context, connection *grpc.ClientConn, gateway string) (*proxy, error) {
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).StreamAggregatedResources(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening a stream to the xDS server: %w", err)
	}
	p := &proxy{stream: stream, node: &corev3.Node{Id: "test", Cluster: gateway}, changed: make(chan struct{})}
	if err := p.request(clusterType, nil, nil); err != nil {
		return nil, err
	}
	go p.receive()
	return p, nil
}

// request asks for resources. It acknowledges the last response of this type, if any.
func (p *proxy) request(kind string, names []string, last *discoveryv3.DiscoveryResponse) error {
	return p.stream.Send(&discoveryv3.DiscoveryRequest{
		Node: p.node, TypeUrl: kind, ResourceNames: names, VersionInfo: last.GetVersionInfo(), ResponseNonce: last.GetNonce(),
	})
}

func (p *proxy) receive() {
	for {
		response, err := p.stream.Recv()
		p.mu.Lock()
		if err == nil {
			err = p.accept(response)
		}
		p.err = err
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// accept stores a response, acknowledges it, and requests the endpoints of new clusters.
func (p *proxy) accept(response *discoveryv3.DiscoveryResponse) error {
	switch response.TypeUrl {
	case clusterType:
		p.clusters = nil
		var names []string
		for _, resource := range response.Resources {
			var c clusterv3.Cluster
			if err := resource.UnmarshalTo(&c); err != nil {
				return err
			}
			p.clusters = append(p.clusters, &c)
			if c.GetType() == clusterv3.Cluster_EDS {
				names = append(names, c.Name)
			}
		}
		slices.Sort(names)
		if err := p.request(clusterType, nil, response); err != nil {
			return err
		}
		if len(names) == 0 {
			p.endpoints = nil
		}
		if slices.Equal(names, p.names) {
			return nil
		}
		p.names = names
		return p.request(endpointType, names, p.assigned)
	case endpointType:
		p.endpoints = map[string]string{}
		for _, resource := range response.Resources {
			var a endpointv3.ClusterLoadAssignment
			if err := resource.UnmarshalTo(&a); err != nil {
				return err
			}
			if strings.HasPrefix(a.ClusterName, ofRoute) && slices.Contains(p.names, a.ClusterName) {
				maps.Copy(p.endpoints, healthOf(&a))
			}
		}
		p.assigned = response
		return p.request(endpointType, p.names, response)
	}
	return nil
}

// healthOf returns the health of endpoints by ADDRESS:PORT. Envoy uses UNKNOWN endpoints.
func healthOf(a *endpointv3.ClusterLoadAssignment) map[string]string {
	health := map[string]string{}
	for _, locality := range a.Endpoints {
		for _, e := range locality.LbEndpoints {
			address := e.GetEndpoint().GetAddress().GetSocketAddress()
			health[fmt.Sprintf("%s:%d", address.GetAddress(), address.GetPortValue())] = e.HealthStatus.String()
		}
	}
	return health
}

// state is one moment of what a proxy knows.
type state struct {
	endpoints map[string]string
	panics    []string // the panic threshold of each of the route's clusters, in percent
}

// String lists the endpoints and the panic thresholds.
func (s state) String() string {
	var lines []string
	for _, address := range slices.Sorted(maps.Keys(s.endpoints)) {
		lines = append(lines, address+"="+s.endpoints[address])
	}
	return fmt.Sprintf("[%s] panic threshold %s", strings.Join(lines, " "), strings.Join(s.panics, ","))
}

// look returns the current state, and a channel that closes when it changes.
func (p *proxy) look() (state, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := state{endpoints: maps.Clone(p.endpoints)}
	for _, c := range p.clusters {
		if strings.HasPrefix(c.Name, ofRoute) {
			threshold := "default"
			if set := c.GetCommonLbConfig().GetHealthyPanicThreshold(); set != nil {
				threshold = fmt.Sprintf("%g", set.Value)
			}
			s.panics = append(s.panics, threshold)
		}
	}
	return s, p.changed, p.err
}
