package lost

import (
	"net/netip"
	"testing"
)

// Endpoints of a member that is silent but lives are withdrawn when they fail three times in a row, and are back with the first answer.
func TestEndpointsAreWithdrawnOneByOne(t *testing.T) {
	at := func(n byte) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, n}), 80) }
	for name, tt := range map[string]struct {
		group  string
		rounds [][2]Outcome // of two endpoints of one service
		want   []byte       // of them are withdrawn
	}{
		"both answer":                               {"web/80", [][2]Outcome{{Accepted, Accepted}, {Accepted, Accepted}, {Accepted, Accepted}}, nil},
		"one ceases to":                             {"web/80", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, []byte{1}},
		"one ceases to, twice":                      {"web/80", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, nil},
		"one ceases to, and is back":                {"web/80", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Accepted, Accepted}}, nil},
		"one is refused that was accepted":          {"web/80", [][2]Outcome{{Accepted, Refused}, {Refused, Refused}, {Refused, Refused}, {Refused, Refused}}, []byte{1}},
		"one has never answered, the other does":    {"web/80", [][2]Outcome{{Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, []byte{1}},
		"one has never answered, nor do the others": {"web/80", [][2]Outcome{{Silent, Refused}, {Silent, Refused}, {Silent, Refused}}, nil},
		"refused, as nobody listens":                {"web/80", [][2]Outcome{{Refused, Accepted}, {Refused, Accepted}, {Refused, Accepted}}, nil},
		"they speak UDP":                            {"", [][2]Outcome{{Accepted, Accepted}, {Silent, Accepted}, {Silent, Accepted}, {Silent, Accepted}}, nil},
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
