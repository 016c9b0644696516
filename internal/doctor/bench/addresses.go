package bench

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

// Ranges reserved for benchmarks (RFC 2544, RFC 5180).
var benchmarking = map[corev1.IPFamily]string{corev1.IPv4Protocol: "198.18.0.0/15", corev1.IPv6Protocol: "2001:2::/48"}

// addresses returns n addresses for endpoints without connections. If the broker restricts the exporting cluster's
// ranges, they come from those ranges, because others would be left out.
func addresses(family corev1.IPFamily, allowed ranges.Set, restricted bool, n int) ([]string, error) {
	texts := []string{benchmarking[family]}
	if restricted {
		texts = allowed.Texts()
	}
	var all []string
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Addr().Is4() != (family == corev1.IPv4Protocol) {
			continue
		}
		for a := prefix.Addr(); a.IsValid() && prefix.Contains(a) && len(all) < n; a = a.Next() {
			all = append(all, a.String())
		}
	}
	if len(all) < n {
		return nil, fmt.Errorf("the broker permits the exporting cluster only %d %s addresses, but the benchmark needs %d. Use fewer endpoints (--endpoints), or permit more addresses: %s", len(all), family, n, command.Broker.Atoll("broker members set CLUSTER --ranges RANGE,..."))
	}
	return all, nil
}
