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
		b.Errorf("another one gets the address %s", at)
	}
	// In the other order:
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
