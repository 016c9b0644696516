package lost

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// A round ends with its agent. It does not wait until it would ask more targets.
func TestRoundEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newProber(func(context.Context, string, string) (net.Conn, error) {
			cancel()
			return nil, errors.New("no route")
		}, metrics.New(metrics.NewTraffic()).Probes, func(names.ClusterID, netip.Addr) bool { return true })
		targets := []netip.AddrPort{netip.MustParseAddrPort("10.1.0.1:80"), netip.MustParseAddrPort("10.1.0.2:80")}
		began := time.Now()
		if p.Round(ctx, targets, 2*time.Second, func(netip.AddrPort, Outcome) bool { return false }) {
			t.Error("an endpoint has answered")
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the round ended %v after its context", took)
		}
	})
}
