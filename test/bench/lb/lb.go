// Package lb compares the load-balancer providers with direct connections in the same run. See
// docs/how-to/load-balancers.md.
package lb

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-mcs/atoll/test/bench/cases"
	"github.com/atoll-mcs/atoll/test/bench/child"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// Cases are the cases of this package.
var Cases = []cases.Case{
	{Name: "lb", About: "load balancers beside direct connections", Extra: true, Limit: 20 * time.Minute, Do: measure},
}

const direct = "direct"

// providers are the measured providers.
var providers = []string{"embedded", "haproxy"}

// measure starts a server, and each provider in its own process, all on the loopback interface,
// and sends them the same traffic in turns. Client, server and load balancer share the
// machine's processors, so a load balancer looks more expensive than on its own machine.
func measure(ctx context.Context, r *cases.Run, c *figure.Case) error {
	server, err := child.Start(nil, RoleServer)
	if err != nil {
		return err
	}
	defer server.Stop()
	addresses := map[string]string{direct: server.Line}
	for _, provider := range providers {
		f, err := child.Start(nil, RoleForwarder, provider, server.Line)
		if err != nil {
			return err
		}
		defer f.Stop()
		addresses[provider] = f.Line
	}
	for _, k := range kinds {
		r.Say("lb: %s", k.name)
		values := map[string][]float64{}
		for range r.Blocks {
			for _, to := range append([]string{direct}, providers...) {
				if to == "haproxy" && k.udp { // HAProxy does not carry UDP
					continue
				}
				value, err := k.run(ctx, addresses[to], time.Duration(r.Seconds*float64(time.Second)))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", k.name, to, err)
				}
				values[to] = append(values[to], value)
			}
		}
		for _, provider := range providers {
			if len(values[provider]) > 0 {
				c.Add(figure.New(k.name+", "+provider, k.unit, values[provider], values[direct]...))
			}
		}
	}
	return nil
}
