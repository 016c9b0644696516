package conformance

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// invalid gives a load balancer invalid ports and backends. It must report them and still serve the valid ones, and so
// must other and later load balancers.
func invalid(b *bench) {
	if !b.carries(corev1.ProtocolTCP) {
		b.Skip("the provider does not support TCP")
	}
	for i, bad := range []netip.AddrPort{
		netip.MustParseAddrPort("10.0.0.1:0"), netip.MustParseAddrPort("[fe80::1%x]:80"), netip.MustParseAddrPort("0.0.0.0:80"), {},
	} {
		m, name := b.mcs(fmt.Sprintf("invalid-%d", i)), fmt.Sprintf("s%d", i)
		s := service(int32(8080+2*i), b.tcp(name)...)
		s.Ports[0].Backends = append(s.Ports[0].Backends, s.Ports[0].Backends[0], cloudprovider.Backend{Address: bad, Cluster: "c9"})
		s.Ports = append(s.Ports, cloudprovider.Port{Protocol: corev1.ProtocolTCP, Number: 0}, s.Ports[0])
		b.lister.set(cloudprovider.KeyOf(m), s)
		status, err := b.provider.EnsureMCSLoadBalancer(b.Context(), m)
		if err == nil || !strings.Contains(err.Error(), "c9") {
			b.Errorf("the provider's error does not name the invalid backend %s: %v", bad, err)
		}
		if status == nil || len(status.Ingress) == 0 {
			b.Fatalf("the provider created no load balancer because of the invalid backend %s: %v", bad, err)
		}
		m.Status.LoadBalancer = *status.DeepCopy()
		b.reaches(address(m, int32(8080+2*i)), name)

		after := b.mcs(fmt.Sprintf("after-%d", i))
		b.apply(after, service(int32(8081+2*i), b.tcp(name)...))
		b.reaches(address(after, int32(8081+2*i)), name)

		// An existing load balancer gets the invalid backend together with a valid one.
		s = service(int32(8081+2*i), b.tcp(name, "new"+name)...)
		s.Ports[0].Backends = append([]cloudprovider.Backend{{Address: bad, Cluster: "c9"}}, s.Ports[0].Backends...)
		b.lister.set(cloudprovider.KeyOf(after), s)
		if _, err := b.provider.UpdateMCSLoadBalancer(b.Context(), after); err == nil || !strings.Contains(err.Error(), "c9") {
			b.Errorf("the provider's error does not name the added invalid backend %s: %v", bad, err)
		}
		b.reaches(address(after, int32(8081+2*i)), name, "new"+name)
	}
}
