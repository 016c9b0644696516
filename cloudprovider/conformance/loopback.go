package conformance

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// Loopback returns a range of loopback addresses for the Addresses of a Harness. Parallel tests draw at random too, so
// it skips addresses whose test port is taken, and waits a while when all are.
func Loopback(t *testing.T) string {
	t.Helper()
	const draws = 200
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	var taken error
	for range draws {
		network := fmt.Sprintf("127.%d.%d.", 1+rand.N(250), rand.N(250))
		listener, err := net.Listen("tcp", network+"10:8080")
		if err == nil {
			_ = listener.Close()
			return network + "10-" + network + "30"
		}
		taken = err
		<-again.C
	}
	t.Fatalf("port 8080 is in use on every loopback address (ss --listening --tcp --processes 'sport = 8080' shows the processes): %v", taken)
	return ""
}
