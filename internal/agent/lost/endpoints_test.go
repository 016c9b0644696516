package lost

import (
	"net/netip"
	"testing"
)

// If a member is silent but alive, each of its endpoints is withdrawn after three failed probes
// in a row, and returns with the first successful probe.
func TestEndpointsAreWithdrawnOneByOne(t *testing.T) {
	at := func(n byte) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, n}), 80) }
	for name, tt := range map[string]struct {
		group  string
		rounds [][2]Outcome // outcomes for two endpoints of a service
		want   []byte       // the endpoints that are withdrawn
	}{
		"both answer":                               {"web/80", [][2]Outcome{{Accepted, Accepted}, {Accepted, Accepted}, {Accepted, Accepted}}, nil},
		"an endpoint stops answering":               {"web/80", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, []byte{1}},
		"an endpoint is silent for two rounds":      {"web/80", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, nil},
		"an endpoint recovers":                      {"web/80", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Accepted, Accepted}}, nil},
		"an endpoint refuses after it accepted":     {"web/80", [][2]Outcome{{Accepted, Refused}, {Refused, Refused}, {Refused, Refused}, {Refused, Refused}}, []byte{1}},
		"an endpoint never answers, the other does": {"web/80", [][2]Outcome{{Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, []byte{1}},
		"neither ever accepts":                      {"web/80", [][2]Outcome{{Silent, Refused}, {Silent, Refused}, {Silent, Refused}}, nil},
		"an endpoint always refuses":                {"web/80", [][2]Outcome{{Refused, Accepted}, {Refused, Accepted}, {Refused, Accepted}}, nil},
		"UDP service":                               {"", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, nil},
	} {
		followed := endpoints{}
		for _, round := range tt.rounds {
			followed.observe(map[Target]Outcome{{at(1), tt.group}: round[0], {at(2), tt.group}: round[1]})
		}
		got := followed.withdrawn()
		for _, n := range tt.want {
			if !got[at(n)] {
				t.Errorf("%s: %v is not withdrawn", name, at(n))
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: withdrawn are %v", name, got)
		}
	}
}
