package embedded

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// A backend goes down after two failed health checks, because one lost packet means nothing. It goes down at once when
// a client's connection fails, because another backend can take that client. One success brings it back.
const (
	checkInterval = 5 * time.Second
	// recheckInterval applies after a failed check.
	recheckInterval = time.Second
	checkTimeout    = 2 * time.Second
	// udpPause is how long a UDP backend gets no datagrams after it refused one. No generic check of UDP servers
	// exists.
	udpPause = 10 * time.Second
)

type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// checkTCP reports whether a backend accepts connections until ctx is done.
func checkTCP(d dialer) func(context.Context, *backend, func(bool)) {
	return func(ctx context.Context, b *backend, report func(up bool)) {
		failures := 0
		// A random delay spreads the first checks of many backends.
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
		_ = tcp.SetLinger(0) // resets the connection, so that neither side keeps state
	}
	_ = conn.Close()
	return true
}

// pauseUDP marks a backend that refused a datagram as up again after udpPause.
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
