package lost

import "net/netip"

// failuresBefore is how many probes in a row, by default one every 10 s, an endpoint must fail to be withdrawn.
const failuresBefore = 3

// endpoints follows the probed endpoints of a member whose heartbeat is missing while some endpoints answer. Failing
// endpoints are withdrawn one by one: no record reports their end.
type endpoints map[netip.AddrPort]*endpoint

type endpoint struct {
	target   Target
	accepted bool // a connection since the heartbeat went missing
	failed   int  // in a row
}

// observe records the outcomes of one probe. An endpoint has failed if it no longer accepts connections, or if it is
// silent while another of the same service and port accepts. Other failures may be a firewall that blocks probes.
func (e endpoints) observe(outcomes map[Target]Outcome) {
	if e == nil { // no endpoint has answered yet
		return
	}
	alive := map[string]bool{}
	for target, outcome := range outcomes {
		alive[target.Group] = alive[target.Group] || outcome == Accepted
	}
	for target, outcome := range outcomes {
		if target.Group == "" {
			continue
		}
		have := e[target.Address]
		if have == nil && len(e) >= maxTargets {
			continue
		}
		if have == nil {
			have = &endpoint{target: target}
			e[target.Address] = have
		}
		switch {
		case outcome == Accepted:
			have.accepted, have.failed = true, 0
		case have.accepted || outcome == Silent && alive[target.Group]:
			have.failed++
		default:
			have.failed = 0
		}
	}
}

func (e endpoints) targets() []Target {
	var all []Target
	for _, followed := range e {
		all = append(all, followed.target)
	}
	return all
}

// withdrawn returns the endpoints to withdraw.
func (e endpoints) withdrawn() map[netip.AddrPort]bool {
	out := map[netip.AddrPort]bool{}
	for address, followed := range e {
		if followed.failed >= failuresBefore {
			out[address] = true
		}
	}
	return out
}
