package haproxy

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// handOver writes down which servers do not answer, for a worker that takes the place of another: it would take all of
// them for up, send a connection to each, and have it be told again that they are down. Nothing depends on it: where it
// fails, that is what happens.
func (p *Provider) handOver(ctx context.Context, running string, all map[types.NamespacedName]*balancer) (down map[string][]netip.AddrPort) {
	_ = os.Remove(p.stateFile()) // which a hub has left that has ended just then
	if running == "" {
		return nil
	}
	have, err := allStates(ctx, p.process.worker())
	if err != nil {
		return nil
	}
	down = map[string][]netip.AddrPort{}
	var text strings.Builder
	text.WriteString("1\n")
	for _, b := range sorted(all) {
		for _, l := range b.Listens {
			for _, a := range l.Servers { // one that rests is not checked
				if have[l.Name][a].down {
					down[l.Name] = append(down[l.Name], a)
					text.WriteString(stateLine(l.Name, a))
				}
			}
		}
	}
	if replaceFile(p.stateFile(), []byte(text.String())) != nil {
		return nil
	}
	return down
}

// stateLine says of a server that it is down, and is checked, and nothing else that its configuration does not say: in version 1
// of the format (HAProxy's management guide, section 9.3, "show servers state"). The ids in it do not count, for names do.
func stateLine(section string, a netip.AddrPort) string {
	// The check's status is that of one which begins: with none, its results would not count.
	const down, admin, weights, since, check, checked, agent, forced = "0", "0", "1 1", "0", "1 0 0", "6", "0", "0 0"
	return strings.Join([]string{
		"1", section, "1", serverName(a), a.Addr().String(), down, admin, weights, since, check, checked, agent, forced,
		"-", fmt.Sprint(a.Port()), "-", "0 0 - - 0\n",
	}, " ")
}
