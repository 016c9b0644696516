package conformance

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

func restart(b *bench) {
	one, two := b.mcs("one"), b.mcs("two")
	servers := b.tcp("a", "b")
	b.apply(one, service(8080, servers[0]))
	b.apply(two, service(8080, servers[1]))
	first, second := address(one, 8080), address(two, 8080)
	b.reaches(first, "a")
	b.stop()
	b.start()
	// In the other order.
	b.apply(two, service(8080, servers[1]))
	b.apply(one, service(8080, servers[0]))
	if address(one, 8080) != first || address(two, 8080) != second {
		b.Errorf("they were at %s and %s, and are at %s and %s", first, second, address(one, 8080), address(two, 8080))
	}
	b.reaches(first, "a")
	b.reaches(second, "b")
}

func untold(b *bench) {
	m := b.mcs("untold")
	if status, err := b.provider.EnsureMCSLoadBalancer(context.Background(), m); err == nil {
		b.Errorf("made without knowing what of: %v", status)
	}
}

// unseen has the hub start again when the Service has gone. Whether the load balancer is there then, and follows, is the
// provider's own matter; it opens nothing, and nobody else gets its address.
func unseen(b *bench) {
	m, other := b.mcs("unseen"), b.mcs("other")
	servers := b.tcp("a", "b")
	b.apply(m, service(8080, servers[0]))
	b.reaches(address(m, 8080), "a")
	before := address(m, 8080)
	b.stop()
	b.lister.lose(key(m), &cloudprovider.Unseen{Numbers: []int32{8080, 8081}, Ports: []cloudprovider.Port{
		portOf(8080, corev1.ProtocolTCP, servers[1]), portOf(8081, corev1.ProtocolTCP, servers[1]),
	}})
	b.start()
	status, err := b.provider.UpdateMCSLoadBalancer(context.Background(), m)
	b.Logf("the provider says: %v, %v", status, err)
	if name, err := ask(address(m, 8081)); err == nil {
		b.Errorf("%s answers at a port that was not open", name)
	}
	b.apply(other, service(8080, servers[0]))
	if address(other, 8080) == before {
		b.Errorf("another one gets the address %s", before)
	}
	b.apply(m, service(8080, servers[1]))
	if address(m, 8080) != before {
		b.Errorf("it was at %s, and is at %s when its Service is back", before, address(m, 8080))
	}
	b.reaches(before, "b")
}
