package haproxy

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// handOver saves which servers are down for the worker that a reload starts. Without it, the new worker takes all
// servers for up and sends each a connection. Failures are harmless.
func (p *Provider) handOver(ctx context.Context, running string, all map[types.NamespacedName]*balancer) {
	_ = os.Remove(p.stateFile()) // a hub that stopped during a reload may have left it
	if running == "" {
		return
	}
	have, err := states(ctx, p.process.worker(), "")
	if err != nil {
		return
	}
	var text strings.Builder
	text.WriteString("1\n")
	for _, b := range sorted(all) {
		for _, l := range b.Listens {
			for _, a := range l.Servers { // resting servers are not checked
				if have[l.Name][a].down {
					text.WriteString(stateLine(l.Name, a))
				}
			}
		}
	}
	_ = replaceFile(p.stateFile(), []byte(text.String()))
}

// stateLine marks a server as down and checked and leaves all else to the configuration, in format version 1
// (HAProxy's management guide, section 9.3, "show servers state"). HAProxy matches by name, so the ids do not matter.
func stateLine(section string, a netip.AddrPort) string {
	// The check status is "starting": without a status, HAProxy would ignore the check's results.
	const down, admin, weights, since, check, checked, agent, forced = "0", "0", "1 1", "0", "1 0 0", "6", "0", "0 0"
	return strings.Join([]string{
		"1", section, "1", serverName(a), a.Addr().String(), down, admin, weights, since, check, checked, agent, forced,
		"-", fmt.Sprint(a.Port()), "-", "0 0 - - 0\n",
	}, " ")
}
