package echo

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// listen starts a server on loopback addresses of one family.
func listen(t *testing.T, host string) *Server {
	t.Helper()
	at := net.JoinHostPort(host, "0")
	s, err := Listen(t.Context(), Options{HTTP: at, TCP: at, UDP: at}, Identity{"web-0", "c1", "c1-n1"})
	if err != nil {
		t.Skipf("no %s here: %v", host, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return s
}

func get(t *testing.T, s *Server, path string) (int, string) {
	t.Helper()
	response, err := http.Get(fmt.Sprintf("http://%s%s", s.http.Addr(), path))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if !response.Close {
		t.Error("the connection is kept")
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestHTTPPaths(t *testing.T) {
	s := listen(t, "127.0.0.1")
	for i, tc := range []struct {
		path string
		code int
		body string
	}{
		{"/hostname", 200, "web-0"},
		{"/healthz", 200, "ok\n"},
		{"/fail", 200, "failing=true\n"},
		{"/healthz", 503, "failing\n"},
		{"/", 200, "pod=web-0 cluster=c1 node=c1-n1 remote=127.0.0.1 proto=http\n"},
		{"/recover", 200, "failing=false\n"},
		{"/healthz", 200, "ok\n"},
		{"/delay?ms=1", 200, "pod=web-0 cluster=c1 node=c1-n1 remote=127.0.0.1 proto=http\n"},
		{"/delay?ms=x", 400, "ms must be a number of milliseconds\n"},
	} {
		if code, body := get(t, s, tc.path); code != tc.code || body != tc.body {
			t.Errorf("%d: %s: got %d %q, want %d %q", i, tc.path, code, body, tc.code, tc.body)
		}
	}
	began := time.Now()
	if get(t, s, "/delay?ms=50"); time.Since(began) < 50*time.Millisecond {
		t.Error("no delay")
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Setenv("POD_NAME", "")
	t.Setenv("ATOLL_LAB_CLUSTER", "c2")
	t.Setenv("NODE_NAME", "")
	t.Setenv("ATOLL_LAB_NODE", "c2-n1")
	id := FromEnvironment()
	if id.Pod == "" || id.Cluster != "c2" || id.Node != "c2-n1" {
		t.Errorf("got %+v", id)
	}
	t.Setenv("POD_NAME", "web-1")
	t.Setenv("NODE_NAME", "c2-n2")
	if id := FromEnvironment(); id.Pod != "web-1" || id.Node != "c2-n2" {
		t.Errorf("got %+v", id)
	}
}

func TestAddressInUse(t *testing.T) {
	s := listen(t, "127.0.0.1")
	_, err := Listen(t.Context(), Options{UDP: "127.0.0.1:0", TCP: s.tcp.Addr().String()}, Identity{})
	if err == nil {
		t.Error("listening twice succeeded")
	}
}
