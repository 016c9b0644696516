// Package gateway forwards TCP connections from the loopback interface to servers in the network namespaces of a
// lab. And it serves the lab's images in these.
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

// Config says what to pass on, and where images are served.
type Config struct {
	Forwards []Forward `json:"forwards"`
	// Images is the folder of an image.Store, served at Registry in the namespaces of Nodes, which are by their names; "" serves none.
	Images   string                       `json:"images,omitempty"`
	Registry netip.AddrPort               `json:"registry"`
	Nodes    map[string]network.Namespace `json:"nodes,omitempty"`
}

// Forward passes connections to Listen on to Target as seen from Namespace.
type Forward struct {
	Listen    netip.AddrPort    `json:"listen"`
	Namespace network.Namespace `json:"namespace"`
	Target    netip.AddrPort    `json:"target"`
}

// dialTimeout is how long a client waits for a server that does not answer.
const dialTimeout = 5 * time.Second

// Run forwards until the context is done, and then ends all connections. The
// error is of a port that it cannot listen on.
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

// serveImages is the registry of one node, and the proxy by which its container runtime reaches others, for a node has no way to the internet.
func serveImages(ctx context.Context, registry http.Handler, in network.Namespace, at netip.AddrPort) error {
	var l net.Listener
	err := in.Do(func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("listening for pulls of images in %s: %w", in, err)
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

// registriesOnly refuses addresses of the machine itself, and ports that registries do not have: the tunnel is no way around cuts.
func registriesOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().IsLoopback() || at.Addr().IsLinkLocalUnicast() || at.Port() != 443 {
		return fmt.Errorf("a lab's nodes reach registries on port 443 only, not %s", address)
	}
	return nil
}

// tunnel connects a client of a proxy with the server that it asks for (RFC 9110, section 9.3.6).
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
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil || buffered.Reader.Buffered() > 0 { // nobody speaks before the answer
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
				log.Warn("passing a connection on", "target", f.Target, "namespace", f.Namespace, "err", err)
			}
		})
	}
}

// pass passes one connection on.
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

// join copies both ways until both ends have said that they are done, one is broken, or ctx is done.
func join(ctx context.Context, client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })()
	done := make(chan struct{})
	go func() { defer close(done); copyHalf(server, client) }()
	copyHalf(client, server)
	<-done
}

// copyHalf copies what src sends until it has no more, and tells dst so. A broken
// connection ends the other direction too.
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
