package lost

import "net/netip"

// failuresBefore is how often in a row an endpoint has to fail before it is withdrawn. Members are probed every 10 s by default.
const failuresBefore = 3

// endpoints follows the endpoints that are asked of one member whose heartbeat is missing, while some of them answer: those that cease to are withdrawn
// one by one, for nobody tells that they have gone.
type endpoints map[netip.AddrPort]*endpoint

type endpoint struct {
	target   Target
	accepted bool // a connection, since the heartbeat has been missing
	failed   int  // in a row
}

// observe takes the outcome of one probe. An endpoint has failed when it accepted a connection before and does not now, or when it is silent while another
// of the same service and port accepts. One that fails otherwise may be protected from probes.
func (e endpoints) observe(outcomes map[Target]Outcome) {
	if e == nil { // none of them has answered yet
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

// targets are the endpoints that are followed.
func (e endpoints) targets() []Target {
	var all []Target
	for _, followed := range e {
		all = append(all, followed.target)
	}
	return all
}

// withdrawn are those that are to be withdrawn.
func (e endpoints) withdrawn() map[netip.AddrPort]bool {
	out := map[netip.AddrPort]bool{}
	for address, followed := range e {
		if followed.failed >= failuresBefore {
			out[address] = true
		}
	}
	return out
}
