package embedded

import (
	"context"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// counts covers all connections of one protocol, or flows for UDP.
type counts struct {
	open          atomic.Int64
	taken, failed atomic.Uint64
}

// begin counts a connection as open until the returned function is called.
func (c *counts) begin() (end func()) {
	c.taken.Add(1)
	c.open.Add(1)
	return func() { c.open.Add(-1) }
}

// Traffic implements cloudprovider.Meter.
func (p *Provider) Traffic(context.Context) ([]cloudprovider.Traffic, error) {
	of := func(protocol corev1.Protocol, c *counts) cloudprovider.Traffic {
		return cloudprovider.Traffic{Protocol: protocol, Open: int(c.open.Load()), Taken: c.taken.Load(), Failed: c.failed.Load()}
	}
	return []cloudprovider.Traffic{of(corev1.ProtocolTCP, &p.tcp), of(corev1.ProtocolUDP, &p.udp)}, nil
}
