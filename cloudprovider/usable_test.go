package cloudprovider

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestUsable(t *testing.T) {
	backend := func(text string) Backend {
		return Backend{Address: netip.MustParseAddrPort(text), Cluster: "c1"}
	}
	good := []Backend{backend("10.0.0.1:80"), backend("[2001:db8::1]:80"), backend("127.0.0.1:80")}
	s, err := Usable(Service{Affinity: time.Hour, SourceRanges: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Ports: []Port{{Number: 80, Protocol: corev1.ProtocolTCP, Backends: good}}})
	if err != nil || len(s.Ports) != 1 || len(s.Ports[0].Backends) != len(good) || s.Affinity != time.Hour || fmt.Sprint(s.SourceRanges) != "[192.0.2.0/24]" {
		t.Errorf("a valid Service became %+v, error %v", s, err)
	}
	for _, bad := range []string{"10.0.0.2:0", "[fe80::1%eth0]:80", "0.0.0.0:80", "[::]:80", "[::ffff:10.0.0.9]:80", "224.0.0.1:80", "10.0.0.1:80"} {
		s, err := Usable(Service{Ports: []Port{{Number: 80, Protocol: corev1.ProtocolTCP, Backends: append(good[:3:3], backend(bad), backend("10.0.0.3:80"))}}})
		if len(s.Ports) != 1 || len(s.Ports[0].Backends) != 4 {
			t.Errorf("with %s: %+v", bad, s)
		}
		if Reason(err) != ReasonInvalidService || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), `"c1"`) || !strings.Contains(err.Error(), "80/TCP") {
			t.Errorf("with %s: %v", bad, err)
		}
	}
	s, err = Usable(Service{Ports: []Port{{Number: 80, Backends: []Backend{{}, good[0]}}, {Number: 0}, {Number: 70000}, {Number: 80}, {Number: 80, Protocol: corev1.ProtocolUDP}}})
	if len(s.Ports) != 2 || len(s.Ports[0].Backends) != 1 || Reason(err) != ReasonInvalidService {
		t.Errorf("of ports: %+v, %v", s.Ports, err)
	}
	s, err = Usable(Service{SourceRanges: []netip.Prefix{{}}, Affinity: 1000 * time.Hour})
	if err == nil || len(s.SourceRanges) != 1 || s.SourceRanges[0] != NoClients || s.Affinity != maxAffinity {
		t.Errorf("an invalid source range: %+v, %v", s, err)
	}
}
