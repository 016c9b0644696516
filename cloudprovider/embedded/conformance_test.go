package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/conformance"
	"github.com/atoll-mcs/atoll/cloudprovider/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback is a range of addresses that no other test on this machine has.
func loopback() string {
	third := fmt.Sprintf("127.%d.%d.", 1+rand.N(250), rand.N(250))
	return third + "10-" + third + "30"
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		New: func(t *testing.T, c cloudprovider.Config) cloudprovider.MCSLoadBalancer {
			c.Options = map[string]string{"drain": "100ms"}
			p, err := cloudprovider.New(embedded.Name, c)
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Addresses: []string{loopback()},
		Protocols: []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP},
		Options:   true,
	})
}
