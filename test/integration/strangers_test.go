package integration

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What a member says of addresses is not trusted: those that are this cluster's own, or nobody's,
// are left out of the import, which says so, and whatever else it exports is imported. Of its
// own endpoints a cluster knows best.
func TestStrangeAddressesAreRefused(t *testing.T) {
	const ns = "strangers"
	namespace(t, ns, "c1", "c2")
	create(t, "c2", service(ns, "web", 80))
	// 10.101.0.1 is the API server's Service in c1, and 239.1.1.1 a multicast address.
	source := slice(ns, "web-x", "web", "10.9.9.9", "10.101.0.1", "239.1.1.1")
	create(t, "c2", source)
	create(t, "c2", export(ns, "web"))
	imp := expectImport(t, "c1", ns, "web", from("c2"))
	expectAddresses(t, "c1", ns, "c2/10.9.9.9")
	expectAddresses(t, "c2", ns, "c2/10.101.0.1", "c2/10.9.9.9", "c2/239.1.1.1")
	expectEvents(t, ns, map[types.UID]string{imp.UID: "web"}, []string{"EndpointsRefused"})

	// A change of one slice is judged too.
	change(t, "c2", source, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9.10"}}, discoveryv1.Endpoint{Addresses: []string{"10.101.7.7"}})
	})
	expectAddresses(t, "c1", ns, "c2/10.9.9.10", "c2/10.9.9.9")
}
