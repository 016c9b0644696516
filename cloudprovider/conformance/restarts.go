package conformance

import (
	"context"
)

// restart checks that load balancers keep their addresses after a restart of the hub, in any order of calls.
func restart(b *bench) {
	one, two, other := b.mcs("one"), b.mcs("two"), b.mcs("other")
	servers := b.tcp("a", "b")
	b.apply(one, service(8080, servers[0]))
	b.apply(two, service(8080, servers[1]))
	first, second := address(one, 8080), address(two, 8080)
	b.reaches(first, "a")
	b.stop()
	b.start()
	b.apply(other, service(8080, servers[1]))
	if at := address(other, 8080); at == first || at == second {
		b.Errorf("another load balancer got the address %s of an existing load balancer", at)
	}
	// In the other order:
	b.apply(two, service(8080, servers[1]))
	b.apply(one, service(8080, servers[0]))
	if address(one, 8080) != first || address(two, 8080) != second {
		b.Errorf("the load balancers were at %s and %s, but are at %s and %s after the restart", first, second, address(one, 8080), address(two, 8080))
	}
	b.reaches(first, "a")
	b.reaches(second, "b")
}

func untold(b *bench) {
	m := b.mcs("untold")
	if status, err := b.provider.EnsureMCSLoadBalancer(context.Background(), m); err == nil {
		b.Errorf("the provider created a load balancer although the lister failed: %v", status)
	}
}
