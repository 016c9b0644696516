package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Interface is the name of a node's link to the fabric inside the node.
const Interface = "eth0"

// CreateBridge creates a bridge in the namespace that forwards immediately to every port, without spanning tree or
// multicast snooping.
func (n Namespace) CreateBridge(name string) error {
	err := n.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		off := false
		bridge := &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &off}
		if err := netlink.LinkAdd(bridge); err != nil {
			return err
		}
		return netlink.LinkSetUp(bridge)
	})
	if err != nil {
		return fmt.Errorf("creating bridge %s in %s: %w", name, n, err)
	}
	return nil
}

// AttachBridge connects node to a bridge in the namespace fabric by a veth: eth0 in the node with addrs, port at the
// bridge.
func AttachBridge(fabric Namespace, bridge, port string, node Namespace, addrs []netip.Prefix) error {
	if err := join(fabric, node, port); err != nil {
		return fmt.Errorf("attaching node %s to the bridge: %w", node, err)
	}
	err := fabric.Do(func() error {
		master, err := netlink.LinkByName(bridge)
		if err != nil {
			return err
		}
		link, err := netlink.LinkByName(port)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetMaster(link, master); err != nil {
			return err
		}
		return netlink.LinkSetUp(link)
	})
	if err == nil {
		err = node.Do(func() error { return configure(Interface, addrs) })
	}
	if err != nil {
		return fmt.Errorf("attaching node %s to the bridge: %w", node, err)
	}
	return nil
}

// Route is a route by eth0. Without Via, the destination is on the link itself.
type Route struct {
	To  netip.Prefix
	Via netip.Addr
}

// AddRoutes adds or replaces routes by the namespace's eth0.
func (n Namespace) AddRoutes(routes []Route) error {
	err := n.Do(func() error {
		link, err := netlink.LinkByName(Interface)
		if err != nil {
			return err
		}
		for _, r := range routes {
			if err := netlink.RouteReplace(r.on(link)); err != nil {
				return fmt.Errorf("route to %s via %s: %w", r.To, r.Via, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("adding routes in %s: %w", n, err)
	}
	return nil
}

func (r Route) on(link netlink.Link) *netlink.Route {
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(r.To)}
	if r.Via.IsValid() {
		route.Gw = r.Via.AsSlice()
		route.Flags = int(netlink.FLAG_ONLINK)
	} else {
		route.Scope = netlink.SCOPE_LINK
	}
	return route
}

// join creates a veth with one end, port, in outer and the other, eth0, in inner. It replaces a leftover port.
func join(outer, inner Namespace, port string) error {
	peer, err := netns.GetFromPath(inner.Path())
	if err != nil {
		return fmt.Errorf("entering network namespace %s: %w", inner, err)
	}
	defer peer.Close()
	return outer.Do(func() error {
		if err := deleteLink(port); err != nil {
			return err
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name = port
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerNamespace = Interface, netlink.NsFd(int(peer))
		if err := netlink.LinkAdd(veth); err != nil {
			return fmt.Errorf("adding link %s in %s: %w", port, outer, err)
		}
		return nil
	})
}

func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	var absent netlink.LinkNotFoundError
	if errors.As(err, &absent) {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

// configure sets the addresses of a link in the calling thread's namespace.
func configure(name string, addrs []netip.Prefix) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		addr := &netlink.Addr{IPNet: ipNet(a)}
		if a.Addr().Is6() {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return fmt.Errorf("adding address %s to %s: %w", a, name, err)
		}
	}
	return netlink.LinkSetUp(link)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
