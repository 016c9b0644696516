// Package gateway forwards TCP connections from the loopback interface to servers in the network namespaces of a lab.
// It also serves the lab's images in these.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/atoll-mcs/atoll/lab/image"
	"github.com/atoll-mcs/atoll/lab/network"
	"golang.org/x/sync/errgroup"
)

// Config configures the forwards and the image registry.
type Config struct {
	Forwards []Forward `json:"forwards"`
	// Images is an image.Store's folder, served at Registry in the namespaces of Nodes (by name); "" for none.
	Images   string                       `json:"images,omitempty"`
	Registry netip.AddrPort               `json:"registry"`
	Nodes    map[string]network.Namespace `json:"nodes,omitempty"`
}

// Forward forwards connections from Listen to Target, as seen from Namespace.
type Forward struct {
	Listen    netip.AddrPort    `json:"listen"`
	Namespace network.Namespace `json:"namespace"`
	Target    netip.AddrPort    `json:"target"`
}

// dialTimeout limits the wait for an unresponsive server.
const dialTimeout = 5 * time.Second

// Run forwards until ctx is done, then closes all connections. It fails if a port is unavailable.
func Run(ctx context.Context, config Config, log *slog.Logger) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range config.Forwards {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.Listen.String())
		if err != nil {
			return fmt.Errorf("listening for %s: %w", f.Target, err)
		}
		defer l.Close()
		group.Go(func() error { return f.serve(ctx, l, log) })
	}
	if config.Images != "" {
		store, err := image.Open(config.Images)
		if err != nil {
			return err
		}
		for name, n := range config.Nodes {
			group.Go(func() error { return serveImages(ctx, store.For(name), n, config.Registry) })
		}
	}
	return group.Wait()
}

// serveImages serves a node's registry and a proxy to other registries, because nodes have no internet access.
func serveImages(ctx context.Context, registry http.Handler, in network.Namespace, at netip.AddrPort) error {
	var l net.Listener
	err := in.Do(func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("listening for image pulls in %s: %w", in, err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			tunnel(ctx, w, r)
			return
		}
		registry.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: dialTimeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving images in %s: %w", in, err)
	}
	return nil
}

// registriesOnly refuses this machine's addresses and non-registry ports: the tunnel must not bypass cuts.
func registriesOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().IsLoopback() || at.Addr().IsLinkLocalUnicast() || at.Port() != 443 {
		return fmt.Errorf("a lab's nodes can connect only to port 443 of registries, and not to loopback or link-local addresses: refused %s", address)
	}
	return nil
}

// tunnel connects a proxy client with the requested server (RFC 9110, section 9.3.6).
func tunnel(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	server, err := (&net.Dialer{Timeout: dialTimeout, Control: registriesOnly}).DialContext(ctx, "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil || buffered.Reader.Buffered() > 0 { // clients must not send before the response
		_, _ = server.Close(), client.Close()
		return
	}
	join(ctx, client, server)
}

func (f Forward) serve(ctx context.Context, l net.Listener, log *slog.Logger) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		client, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accepting connections for %s: %w", f.Target, err)
		}
		connections.Go(func() {
			if err := f.pass(ctx, client); err != nil {
				log.Warn("forwarding a connection failed", "target", f.Target, "namespace", f.Namespace, "err", err)
			}
		})
	}
}

func (f Forward) pass(ctx context.Context, client net.Conn) error {
	defer client.Close()
	if ctx.Err() != nil {
		return nil
	}
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	server, err := f.Namespace.DialContext(dialing, "tcp", f.Target.String())
	if err != nil {
		return err
	}
	join(ctx, client, server)
	return nil
}

// join copies both ways until both ends are closed, one fails, or ctx is done.
func join(ctx context.Context, client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })()
	done := make(chan struct{})
	go func() { defer close(done); copyHalf(server, client) }()
	copyHalf(client, server)
	<-done
}

// copyHalf copies from src to its end, then closes dst for writing. A broken connection also ends the other direction.
func copyHalf(dst, src net.Conn) {
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		_ = src.Close()
		return
	}
	if half, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
