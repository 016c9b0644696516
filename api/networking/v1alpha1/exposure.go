package v1alpha1

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Has tells whether the Service is exposed in this way.
func (s *MultiClusterServiceSpec) Has(t ExposureType) bool { return slices.Contains(s.Types, t) }

// Consumers returns the ids of the clusters that import the Service. Empty means all. Of the three fields that select
// them, the newest counts: consumerClusters, then the deprecated serviceConsumptionClusters, then range.
func (s *MultiClusterServiceSpec) Consumers() []string {
	return firstOf(clusterNames(s.ConsumerClusters), s.ServiceConsumptionClusters, s.Range.ClusterNames)
}

// Providers returns the ids of the clusters whose endpoints the service has. Empty means all. The deprecated
// serviceProvisionClusters counts only if providerClusters is empty.
func (s *MultiClusterServiceSpec) Providers() []string {
	return firstOf(clusterNames(s.ProviderClusters), s.ServiceProvisionClusters)
}

// firstOf returns a copy of the first list that is not empty.
func firstOf(lists ...[]string) []string {
	for _, list := range lists {
		if len(list) > 0 {
			return slices.Clone(list)
		}
	}
	return nil
}

// Exposes tells whether a port of the Service's, by its name and number, is exposed.
func (s *MultiClusterServiceSpec) Exposes(name string, port int32) bool {
	return len(s.Ports) == 0 || slices.ContainsFunc(s.Ports, func(p ExposurePort) bool { return p.Is(name, port) })
}

// Is tells whether this is the port of that name and number.
func (p ExposurePort) Is(name string, port int32) bool {
	return (p.Name == "" || p.Name == name) && (p.Port == 0 || p.Port == port)
}

// ExposedPorts returns those ports of a Service that are exposed, in their order.
func (s *MultiClusterServiceSpec) ExposedPorts(service *corev1.Service) []corev1.ServicePort {
	var exposed []corev1.ServicePort
	for _, p := range service.Spec.Ports {
		if s.Exposes(p.Name, p.Port) {
			exposed = append(exposed, p)
		}
	}
	return exposed
}

// MissingPorts says which of ports a Service does not have, for people; nothing where it has all.
func MissingPorts(ports []ExposurePort, service *corev1.Service) []string {
	var missing []string
	for _, p := range ports {
		if !slices.ContainsFunc(service.Spec.Ports, func(have corev1.ServicePort) bool { return p.Is(have.Name, have.Port) }) {
			missing = append(missing, p.String())
		}
	}
	return missing
}

// PortsOf names the ports of a Service for people.
func PortsOf(service *corev1.Service) []string {
	var ports []string
	for _, p := range service.Spec.Ports {
		ports = append(ports, ExposurePort{Name: p.Name, Port: p.Port}.String())
	}
	return ports
}

// String names the port for people.
func (p ExposurePort) String() string {
	switch {
	case p.Name == "":
		return fmt.Sprint(p.Port)
	case p.Port == 0:
		return strconv.Quote(p.Name)
	}
	return fmt.Sprintf("%q with number %d", p.Name, p.Port)
}

func clusterNames(selectors []ClusterSelector) []string {
	var names []string
	for _, s := range selectors {
		names = append(names, s.Name)
	}
	return names
}
