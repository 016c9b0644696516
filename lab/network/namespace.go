// Package network creates a lab's network namespaces, links and routes, and blocks traffic between parts of the lab. It
// never changes interfaces, rules or settings of the caller's own namespace.
//
// All of it needs root.
package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// runDir has iproute2's named network namespaces, so that `ip netns` shows the lab's.
const runDir = "/run/netns"

// Namespace is a network namespace: its name below /run/netns or, if another program created it, its path.
type Namespace string

// sysctls are set in every new namespace.
var sysctls = map[string]string{
	// Nodes forward between pods, the fabric and service addresses.
	"net/ipv4/ip_forward":          "1",
	"net/ipv6/conf/all/forwarding": "1",
	// A pod's route to another cluster and the return route may differ.
	"net/ipv4/conf/all/rp_filter":     "0",
	"net/ipv4/conf/default/rp_filter": "0",
	// Pods behind one node reach each other through it, so it must not send redirects.
	"net/ipv4/conf/all/send_redirects":     "0",
	"net/ipv4/conf/default/send_redirects": "0",
	// Addresses are unique by construction, so they are usable at once.
	"net/ipv6/conf/all/accept_dad":     "0",
	"net/ipv6/conf/default/accept_dad": "0",
	"net/ipv6/conf/all/accept_ra":      "0",
	"net/ipv6/conf/default/accept_ra":  "0",
}

// Path returns the namespace's file.
func (n Namespace) Path() string {
	if filepath.IsAbs(string(n)) {
		return string(n)
	}
	return filepath.Join(runDir, string(n))
}

// Exists reports whether the namespace exists. A regular file of this name does not count.
func (n Namespace) Exists() bool {
	var st unix.Statfs_t
	return unix.Statfs(n.Path(), &st) == nil && st.Type == unix.NSFS_MAGIC
}

// Create creates the namespace like `ip netns add`, with its loopback interface up and forwarding on. It fails if the
// name is taken.
func (n Namespace) Create() error {
	if n == "" || strings.ContainsAny(string(n), "/\x00") || n == "." || n == ".." {
		return fmt.Errorf("creating network namespace: invalid name %q", string(n))
	}
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return fmt.Errorf("creating network namespace %s: %w", n, err)
	}
	f, err := os.OpenFile(n.Path(), os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return fmt.Errorf("creating network namespace %s: %w", n, err)
	}
	_ = f.Close()
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if err := unix.Mount("/proc/thread-self/ns/net", n.Path(), "none", unix.MS_BIND, ""); err != nil {
			return err
		}
		return initialise()
	})
	if err != nil {
		_ = n.Delete()
		return fmt.Errorf("creating network namespace %s: %w", n, err)
	}
	return nil
}

func initialise() error {
	for name, value := range sysctls {
		err := os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return err
		}
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// Delete removes the namespace's links, so that their other ends are gone when it returns, and then its name. The
// kernel frees the rest when its last process ends. A missing namespace is no error.
func (n Namespace) Delete() error {
	if n.Exists() {
		_ = n.Do(deleteLinks) // the kernel does it later too
		if err := unix.Unmount(n.Path(), unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("deleting network namespace %s: %w", n, err)
		}
	}
	if err := os.Remove(n.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting network namespace %s: %w", n, err)
	}
	return nil
}

func deleteLinks() error {
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	for _, l := range links {
		if l.Attrs().Name != "lo" {
			_ = netlink.LinkDel(l)
		}
	}
	return nil
}

// Do runs f inside the namespace on its own OS thread and returns its error. Processes that f starts are inside too;
// goroutines are not.
func (n Namespace) Do(f func() error) error {
	h, err := netns.GetFromPath(n.Path())
	if err != nil {
		return fmt.Errorf("entering network namespace %s: %w", n, err)
	}
	defer h.Close()
	return onThread(func() error {
		if err := netns.Set(h); err != nil {
			return fmt.Errorf("entering network namespace %s: %w", n, err)
		}
		return f()
	})
}

// onThread runs f, which may change the thread's network namespace, and restores it afterwards. A thread that cannot be
// restored is not reused: a goroutine that ends locked ends its thread.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer close(done) // even if f ends the goroutine
		runtime.LockOSThread()
		home, err := netns.Get()
		if err != nil {
			runtime.UnlockOSThread()
			done <- err
			return
		}
		defer home.Close()
		defer func() {
			if netns.Set(home) == nil {
				runtime.UnlockOSThread()
			}
		}()
		done <- f()
	}()
	return <-done
}

// Listen is net.ListenConfig.Listen inside the namespace. The address must be literal, because names resolve outside.
func (n Namespace) Listen(ctx context.Context, network, address string) (l net.Listener, err error) {
	err = n.Do(func() error {
		l, err = (&net.ListenConfig{}).Listen(ctx, network, address)
		return err
	})
	return l, err
}

// DialContext is net.Dialer.DialContext inside the namespace, for a literal address.
func (n Namespace) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = n.Do(func() error {
		c, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// List returns the machine's named network namespaces.
func List() ([]Namespace, error) {
	entries, err := os.ReadDir(runDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing network namespaces: %w", err)
	}
	var all []Namespace
	for _, e := range entries {
		all = append(all, Namespace(e.Name()))
	}
	return all, nil
}
