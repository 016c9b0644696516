package embedded

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// signatureV2 starts every header of version 2.
const signatureV2 = "\r\n\r\n\x00\r\nQUIT\n"

// proxyHeader returns the PROXY protocol header that names the TCP client
// (www.haproxy.org/download/2.6/doc/proxy-protocol.txt, sections 2.1 and 2.2).
func proxyHeader(version int, client, server netip.AddrPort) []byte {
	from, to := client.Addr().Unmap(), server.Addr().Unmap()
	if from.Is4() != to.Is4() { // a header has one family, so IPv4 addresses are written as IPv6
		from, to = netip.AddrFrom16(from.As16()), netip.AddrFrom16(to.As16())
	}
	if version == 1 {
		family := "TCP4"
		if !from.Is4() {
			family = "TCP6"
		}
		return fmt.Appendf(nil, "PROXY %s %s %s %d %d\r\n", family, from.WithZone(""), to.WithZone(""), client.Port(), server.Port())
	}
	const versionAndProxy, tcp4, tcp6 = 0x21, 0x11, 0x21
	family := byte(tcp4)
	if !from.Is4() {
		family = tcp6
	}
	addresses := append(from.AsSlice(), to.AsSlice()...)
	header := append([]byte(signatureV2), versionAndProxy, family)
	header = binary.BigEndian.AppendUint16(header, uint16(len(addresses)+4))
	header = append(header, addresses...)
	header = binary.BigEndian.AppendUint16(header, client.Port())
	return binary.BigEndian.AppendUint16(header, server.Port())
}
