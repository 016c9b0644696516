package clusterset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/fall"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	defaultTTL = 5    // seconds, as in the kubernetes plugin
	maxTTL     = 3600 // seconds, as in the kubernetes plugin

	// reloadTimeout is how long a reload waits for the API server before it keeps the old configuration and its
	// answers.
	reloadTimeout = 10 * time.Second
)

func init() { plugin.Register(pluginName, setup) }

// options are the plugin's settings in the Corefile.
type options struct {
	// zones has at least one element. PTR targets are in the first zone.
	zones []string
	// reverse are the reverse zones, if any.
	reverse    []string
	ttl        uint32 // seconds
	fall       fall.F
	kubeconfig string // empty in a pod
	context    string // empty for the current context of the file
}

func setup(c *caddy.Controller) error {
	o, err := parse(c)
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	config, err := o.clientConfig()
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	imports, slices, err := listerWatchers(config)
	if err != nil {
		return plugin.Error(pluginName, err)
	}

	h := newClusterset(o)
	r := newRunning(h.label)
	reload := true
	c.OnFirstStartup(func() error {
		reload = false
		return nil
	})
	c.OnStartup(func() error {
		h.setNameserver(boundAddresses(dnsserver.GetConfig(c).ListenHosts))
		r.start(func(ctx context.Context) { h.watch(ctx, imports, slices) })
		if !reload {
			return nil // SERVFAIL until synced
		}
		// The old server stops only after this function returns.
		select {
		case <-h.synced:
			return nil
		case <-r.ctx.Done():
			return plugin.Error(pluginName, errors.New("the plugin stopped before it had read the cluster's services"))
		case <-time.After(reloadTimeout):
			return plugin.Error(pluginName, fmt.Errorf("the cluster's services could not be read within %v", reloadTimeout))
		}
	})
	c.OnRestart(handlers.reloading)
	c.OnRestartFailed(handlers.reloadFailed)
	c.OnShutdown(r.stop)

	dnsserver.GetConfig(c).AddPlugin(func(next plugin.Handler) plugin.Handler {
		h.Next = next
		return h
	})
	return nil
}

func newClusterset(o options) *Clusterset {
	c := &Clusterset{
		label:  strings.Join(slices.Concat(o.zones, o.reverse), " "),
		fall:   o.fall,
		ttl:    o.ttl,
		synced: make(chan struct{}),
	}
	for _, name := range o.zones {
		c.zones = append(c.zones, newZone(name))
	}
	for _, name := range o.reverse {
		if c.names == nil {
			c.names = newReverse()
		}
		c.zones = append(c.zones, newPointerZone(name, c.names, c.zones[0]))
	}
	return c
}

// New returns a handler for zones, and a function that keeps its answers current until the context is done. The
// handler answers SERVFAIL until it has read the cluster. New is for programs without a Corefile.
func New(config *rest.Config, zones ...string) (*Clusterset, func(context.Context), error) {
	imports, slices, err := listerWatchers(config)
	if err != nil {
		return nil, nil, err
	}
	h := newClusterset(options{zones: zones, ttl: defaultTTL})
	return h, func(ctx context.Context) { h.watch(ctx, imports, slices) }, nil
}

// setNameserver sets the addresses of each zone's name server.
func (c *Clusterset) setNameserver(addrs []netip.Addr) {
	for _, z := range c.zones {
		z.ns.v4, z.ns.v6 = pack(addrs)
	}
}

// parse reads the plugin's part of the Corefile.
func parse(c *caddy.Controller) (options, error) {
	o := options{ttl: defaultTTL}
	for i := 0; c.Next(); i++ {
		if i > 0 {
			return o, plugin.ErrOnce
		}
		for _, zone := range plugin.OriginsFromArgsOrServerBlock(c.RemainingArgs(), c.ServerBlockKeys) {
			o.addZone(zone)
		}
		if len(o.zones) == 0 {
			return o, errors.New("at least one zone must not be a reverse zone")
		}
		for c.NextBlock() {
			if err := o.parseProperty(c); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// addZone adds a zone, which is fully qualified and in lower case.
func (o *options) addZone(name string) {
	switch {
	case slices.Contains(o.zones, name) || slices.Contains(o.reverse, name):
		// A server block may list one zone on several ports.
	case !isReverse(name):
		o.zones = append(o.zones, name)
	default:
		o.reverse = append(o.reverse, name)
	}
}

// parseProperty reads one line of the plugin's block.
func (o *options) parseProperty(c *caddy.Controller) error {
	property, args := c.Val(), c.RemainingArgs()
	switch property {
	case "kubeconfig":
		switch len(args) {
		case 1:
			o.kubeconfig, o.context = args[0], ""
		case 2:
			o.kubeconfig, o.context = args[0], args[1]
		default:
			return c.ArgErr()
		}
	case "ttl":
		if len(args) != 1 {
			return c.ArgErr()
		}
		seconds, err := strconv.ParseUint(args[0], 10, 32)
		if err != nil {
			return c.Errf("ttl %q is not a number of seconds", args[0])
		}
		if seconds > maxTTL {
			return c.Errf("ttl must be in range [0, %d]: %d", maxTTL, seconds)
		}
		o.ttl = uint32(seconds)
	case "fallthrough":
		o.fall.SetZonesFromArgs(args)
	default:
		return c.Errf("unknown property '%s'", property)
	}
	return nil
}

// clientConfig returns the API server's client configuration.
func (o *options) clientConfig() (*rest.Config, error) {
	if o.kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reading the in-cluster configuration failed; outside a cluster, set kubeconfig: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: o.kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: o.context},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", o.kubeconfig, err)
	}
	return config, nil
}

// boundAddresses returns the addresses that the server listens on, or the machine's if it listens on all. It leaves
// out loopback, which clients cannot reach.
func boundAddresses(hosts []string) []netip.Addr {
	if len(hosts) == 0 || hosts[0] == "" {
		hosts = nil
		addrs, err := net.InterfaceAddrs()
		if err != nil {
			return nil
		}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				hosts = append(hosts, prefix.Addr().String())
			}
		}
	}
	var found []netip.Addr
	for _, host := range hosts {
		a, err := netip.ParseAddr(host)
		if err == nil && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsUnspecified() {
			found = append(found, a.Unmap())
		}
	}
	return found
}
