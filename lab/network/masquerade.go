package network

import (
	"fmt"
	"net/netip"
	"strings"
)

// Masquerade has traffic of the ranges bear the address of the node when it leaves for
// anywhere but the ranges, as clusters do whose pods' addresses mean nothing outside.
func (n Namespace) Masquerade(ranges []netip.Prefix) error {
	if err := n.nft(masqueradeScript(ranges)); err != nil {
		return fmt.Errorf("masquerading in %s: %w", n, err)
	}
	return nil
}

// masqueradeScript makes a table of its own beside kube-proxy's, whatever was in it.
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
