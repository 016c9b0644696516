package probe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"

	"golang.org/x/net/dns/dnsmessage"
)

// maxReply is more than a negative answer needs.
const maxReply = 4096

// zones asks a DNS server which zone a name is in: the owners of the SOA records in its answer (RFC 2308, section 3). The
// resolver of net does not show them. A server may leave them out of an answer from its cache.
func zones(ctx context.Context, server, name string) ([]string, error) {
	about, err := dnsmessage.NewName(name)
	if err != nil {
		return nil, fmt.Errorf("the name %s: %w", name, err)
	}
	query := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: uint16(rand.Uint32()), RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: about, Type: dnsmessage.TypeSOA, Class: dnsmessage.ClassINET}},
	}
	packed, err := query.Pack()
	if err != nil {
		return nil, fmt.Errorf("making a query for %s: %w", name, err)
	}
	reply, err := exchange(ctx, server, packed)
	switch {
	case err != nil:
		return nil, fmt.Errorf("querying %s for the zone of %s: %w", server, name, err)
	case reply.ID != query.ID:
		return nil, fmt.Errorf("querying %s for the zone of %s: the reply is to another query", server, name)
	case reply.RCode != dnsmessage.RCodeSuccess && reply.RCode != dnsmessage.RCodeNameError:
		return nil, fmt.Errorf("querying %s for the zone of %s: %s", server, name, reply.RCode)
	}
	var all []string
	for _, r := range append(reply.Answers, reply.Authorities...) {
		if r.Header.Type == dnsmessage.TypeSOA {
			all = append(all, r.Header.Name.String())
		}
	}
	return all, nil
}

func exchange(ctx context.Context, server string, query []byte) (reply dnsmessage.Message, _ error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", server)
	if err != nil {
		return reply, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := c.Write(query); err != nil {
		return reply, err
	}
	buffer := make([]byte, maxReply)
	n, err := c.Read(buffer)
	if ctx.Err() != nil {
		return reply, ctx.Err()
	}
	if err != nil {
		return reply, err
	}
	return reply, reply.Unpack(buffer[:n])
}
