package embedded_test

import (
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/conformance"
	"github.com/atoll-mcs/atoll/cloudprovider/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		Addresses: []string{conformance.Loopback(t)},
		Protocols: []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP},
		Options:   true,
	})
}
