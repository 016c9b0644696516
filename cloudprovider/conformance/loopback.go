package conformance

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// Loopback returns a range of addresses of this machine's loopback interface, for the Addresses of a Harness. Tests that run beside
// draw theirs by chance too, and a process that a test has left may listen for long: one on which somebody listens at the port that
// load balancers are tried with is not taken. Where that is so of all addresses, it is waited for a while for who has the port.
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
	t.Fatalf("no loopback address has port 8080 free (ss --listening --tcp --processes 'sport = 8080' tells who has it): %v", taken)
	return ""
}
