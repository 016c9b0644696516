// Package echo is the small server in the test and demo pods of labs. Each of its answers is one line that says
// which pod, cluster and node gave it, to whom and by which protocol, so that a test can tell which backend it
// reached.
package echo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options say where to listen; an empty address means not at all.
type Options struct{ HTTP, TCP, UDP string }

// Identity identifies the responding server.
type Identity struct{ Pod, Cluster, Node string }

// FromEnvironment reads the identity: POD_NAME or the host name, ATOLL_LAB_CLUSTER, and NODE_NAME or ATOLL_LAB_NODE.
func FromEnvironment() Identity {
	id := Identity{Pod: os.Getenv("POD_NAME"), Cluster: os.Getenv("ATOLL_LAB_CLUSTER"), Node: os.Getenv("NODE_NAME")}
	if id.Pod == "" {
		id.Pod, _ = os.Hostname()
	}
	if id.Node == "" {
		id.Node = os.Getenv("ATOLL_LAB_NODE")
	}
	return id
}

// line returns the response to a client.
func (id Identity) line(remote, proto string) string {
	if a, err := netip.ParseAddrPort(remote); err == nil {
		remote = a.Addr().Unmap().WithZone("").String()
	}
	return fmt.Sprintf("pod=%s cluster=%s node=%s remote=%s proto=%s\n", id.Pod, id.Cluster, id.Node, remote, proto)
}

// Server serves all of its listeners.
type Server struct {
	id   Identity
	http net.Listener
	tcp  net.Listener
	udp  net.PacketConn

	failing atomic.Bool
}

// Listen opens the listeners, for both IPv4 and IPv6 unless the address has a family.
func Listen(ctx context.Context, o Options, id Identity) (*Server, error) {
	s := &Server{id: id}
	if err := s.listen(ctx, o); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *Server) listen(ctx context.Context, o Options) (err error) {
	var lc net.ListenConfig
	if o.HTTP != "" {
		if s.http, err = lc.Listen(ctx, "tcp", o.HTTP); err != nil {
			return fmt.Errorf("listening for HTTP: %w", err)
		}
	}
	if o.TCP != "" {
		if s.tcp, err = lc.Listen(ctx, "tcp", o.TCP); err != nil {
			return fmt.Errorf("listening for TCP: %w", err)
		}
	}
	if o.UDP != "" {
		if s.udp, err = lc.ListenPacket(ctx, "udp", o.UDP); err != nil {
			return fmt.Errorf("listening for UDP: %w", err)
		}
	}
	return nil
}

func (s *Server) close() {
	if s.http != nil {
		s.http.Close()
	}
	if s.tcp != nil {
		s.tcp.Close()
	}
	if s.udp != nil {
		s.udp.Close()
	}
}

// Serve serves until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		s.close()
		return nil
	})
	if s.http != nil {
		group.Go(func() error { return s.serveHTTP(ctx) })
	}
	if s.tcp != nil {
		group.Go(s.serveTCP)
	}
	if s.udp != nil {
		group.Go(s.serveUDP)
	}
	return group.Wait()
}

func (s *Server) serveHTTP(ctx context.Context) error {
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	// One connection per request, so that each request is balanced separately.
	server.SetKeepAlivesEnabled(false)
	defer server.Close()
	if err := server.Serve(s.http); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	return nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, s.id.line(r.RemoteAddr, "http"))
	})
	mux.HandleFunc("/hostname", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s.id.Pod) })
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if s.failing.Load() {
			http.Error(w, "failing", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ok\n")
	})
	for path, failing := range map[string]bool{"/fail": true, "/recover": false} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			s.failing.Store(failing)
			fmt.Fprintf(w, "failing=%v\n", failing)
		})
	}
	mux.HandleFunc("/delay", func(w http.ResponseWriter, r *http.Request) {
		ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
		if err != nil || ms < 0 {
			http.Error(w, "ms must be a number of milliseconds", http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
			io.WriteString(w, s.id.line(r.RemoteAddr, "http"))
		case <-r.Context().Done():
		}
	})
	return mux
}

func (s *Server) serveTCP() error {
	var answering sync.WaitGroup
	defer answering.Wait()
	for {
		conn, err := s.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serving TCP: %w", err)
		}
		answering.Go(func() { s.answer(conn) })
	}
}

// answer writes the line and waits until the client closes: closing with unread data would reset the connection and
// lose the line.
func (s *Server) answer(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, s.id.line(conn.RemoteAddr().String(), "tcp"))
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, conn)
}

func (s *Server) serveUDP() error {
	buffer := make([]byte, 64<<10)
	for {
		_, remote, err := s.udp.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serving UDP: %w", err)
		}
		// UDP clients handle lost responses.
		_, _ = s.udp.WriteTo([]byte(s.id.line(remote.String(), "udp")), remote)
	}
}
