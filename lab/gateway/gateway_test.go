package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/atoll-mcs/atoll/lab/network"
)

// TestRun sends data through the gateway, closes its half of the connection, and gets the
// server's complete response, which the server sends only then.
func TestRun(t *testing.T) {
	if testing.Short() || os.Geteuid() != 0 {
		t.Skip("needs root and network namespaces")
	}
	n := network.Namespace(fmt.Sprintf("atoll-gwtest-%d", os.Getpid()))
	if err := n.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Delete() })
	server, err := n.Listen(t.Context(), "tcp", "127.0.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			data, _ := io.ReadAll(c)
			fmt.Fprintf(c, "%d bytes", len(data))
			_ = c.Close()
		}
	}()

	ctx, stop := context.WithCancel(t.Context())
	listen := freePort(t)
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{Forwards: []Forward{{listen, n, netip.MustParseAddrPort("127.0.0.1:80")}}}, slog.New(slog.DiscardHandler))
	}()
	client := connect(t, listen)
	const size = 1 << 20
	if _, err := client.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	_ = client.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(client)
	if want := fmt.Sprintf("%d bytes", size); err != nil || string(answer) != want {
		t.Errorf("answer %q, %v, want %q", answer, err, want)
	}

	idle := connect(t, listen)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := io.ReadAll(idle); err != nil {
		t.Logf("an idle connection ended with %v", err) // FIN and RST are both valid
	}
}

func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// connect dials until the server listens.
func connect(t *testing.T, to netip.AddrPort) net.Conn {
	t.Helper()
	for {
		c, err := net.Dial("tcp", to.String())
		if err == nil {
			return c
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
