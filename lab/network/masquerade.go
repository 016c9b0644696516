package network

import (
	"fmt"
	"net/netip"
	"strings"
)

// Masquerade gives traffic that leaves the ranges the node's address, as in clusters whose pod addresses are not routed
// outside.
func (n Namespace) Masquerade(ranges []netip.Prefix) error {
	if err := n.nft(masqueradeScript(ranges)); err != nil {
		return fmt.Errorf("setting up masquerading in %s: %w", n, err)
	}
	return nil
}

// masqueradeScript creates or replaces a separate table, next to kube-proxy's.
func masqueradeScript(ranges []netip.Prefix) string {
	const table = "atoll_lab_egress"
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s\ndelete table inet %s\ntable inet %s {\n", table, table, table)
	b.WriteString("  chain leaving {\n    type nat hook postrouting priority srcnat; policy accept;\n")
	for _, p := range ranges {
		family := "ip"
		if p.Addr().Is6() {
			family = "ip6"
		}
		fmt.Fprintf(&b, "    oifname %s %s saddr %s %s daddr != %s masquerade\n", Interface, family, p, family, p)
	}
	b.WriteString("  }\n}\n")
	return b.String()
}
