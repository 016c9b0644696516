package embedded

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// Health checks: a backend that listens is up. Two checks in a row must fail before one goes
// down by them, for a single packet may be lost; a connection of a client's that can't be made has it go
// down at once, for another backend takes that. One success brings it back.
const (
	checkInterval = 5 * time.Second
	// recheckInterval is between checks of a backend that has failed one.
	recheckInterval = time.Second
	checkTimeout    = 2 * time.Second
	// udpPause is how long a backend of a UDP port is left out after it has refused a datagram.
	// Nothing else tells whether it is up: what UDP servers answer is their own affair.
	udpPause = 10 * time.Second
)

// dialer connects to backends.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// checkTCP reports whether a backend accepts connections until ctx is done.
func checkTCP(d dialer) func(context.Context, *backend, func(bool)) {
	return func(ctx context.Context, b *backend, report func(up bool)) {
		failures := 0
		// The first comes soon, but not those of a thousand backends at once.
		timer := time.NewTimer(rand.N(recheckInterval))
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.suspect:
				failures = 2
				timer.Reset(recheckInterval)
				continue
			case <-timer.C:
			}
			pause := checkInterval - checkInterval/10 + rand.N(checkInterval/5)
			if accepts(ctx, d, b) {
				failures = 0
				report(true)
			} else if ctx.Err() == nil {
				failures++
				pause = recheckInterval
				if failures >= 2 {
					report(false)
				}
			}
			timer.Reset(pause)
		}
	}
}

func accepts(ctx context.Context, d dialer, b *backend) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", b.address.String())
	if err != nil {
		return false
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // ends it at once, leaving no state behind at either side
	}
	_ = conn.Close()
	return true
}

// pauseUDP has a backend that has refused a datagram be tried again after a while.
func pauseUDP(ctx context.Context, b *backend, report func(up bool)) {
	timer := time.NewTimer(udpPause)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.suspect:
			timer.Reset(udpPause)
		case <-timer.C:
			report(true)
		}
	}
}
