package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serve starts a listening probe and returns its address.
func serve(t *testing.T, identity string) string {
	t.Helper()
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	for i := 0; i < 10 && errors.Is(err, syscall.EADDRINUSE); i++ { // another process uses the port for UDP
		listener, err = Listen(t.Context(), "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		listener.Serve(ctx, identity)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return listener.tcp.Addr().String()
}

// TestProbesReachEachOther: over TCP with and without a load, and over UDP, responses identify
// the server. If no server listens, the report has the cause.
func TestProbesReachEachOther(t *testing.T) {
	at := serve(t, "c2")
	nobody := netip.MustParseAddrPort("127.0.0.1:1").String()
	r := Do(t.Context(), Plan{Timeout: metav1.Duration{Duration: 5 * time.Second}, Connections: []Connection{
		{Network: "tcp", Address: at, Times: 3, Await: true},
		{Network: "tcp", Address: at, Bytes: 64 << 10},
		{Network: "udp", Address: at},
		{Network: "tcp", Address: nobody, Times: 2},
	}})
	for i, want := range []int{3, 1, 1} {
		got := r.Connections[i]
		if got.By["c2"] != want || got.Failed != 0 || got.Error != "" {
			t.Errorf("%+v, want %d answers of c2", got, want)
		}
	}
	if got := r.Connections[3]; got.Failed != 2 || !strings.Contains(got.Error, "refused") {
		t.Errorf("%+v, want it refused", got)
	}
}

// TestLoadThatIsLost: the probe detects a path that drops large packets.
func TestLoadThatIsLost(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("c2\nxxx"))
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	r := Do(t.Context(), Plan{Timeout: metav1.Duration{Duration: 5 * time.Second}, Connections: []Connection{{Network: "tcp", Address: listener.Addr().String(), Bytes: 1000}}})
	if got := r.Connections[0]; got.Failed != 1 || !strings.Contains(got.Error, "only 3 of 1000 bytes of large packets came back") {
		t.Errorf("%+v", got)
	}
}

// TestServers: every response of an API server counts, and contains the server's time.
func TestServers(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	r := Do(t.Context(), Plan{Timeout: metav1.Duration{Duration: 5 * time.Second}, Servers: []Server{{URL: s.URL}}})
	if got := r.Servers[0]; got.Status != 0 || !strings.Contains(got.Error, "certificate") {
		t.Errorf("%+v, want its certificate refused", got)
	}
	client := s.Client()
	if status, at, err := get(t.Context(), client, s.URL); err != nil || status != 401 || time.Until(at) < 50*time.Minute {
		t.Errorf("%d %v %v", status, at, err)
	}
}

func TestAhead(t *testing.T) {
	second := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		start, end time.Duration
		want       time.Duration
	}{
		{100 * time.Millisecond, 200 * time.Millisecond, 0},
		{-50 * time.Millisecond, 50 * time.Millisecond, 0},
		{3 * time.Second, 4 * time.Second, -2 * time.Second}, // the Date header has a resolution of a second
		{-9 * time.Second, -8 * time.Second, 8 * time.Second},
	} {
		if got := Ahead(second, second.Add(c.start), second.Add(c.end)); got != c.want {
			t.Errorf("asked from %v to %v: %v, want %v", c.start, c.end, got, c.want)
		}
	}
}

func TestResolvers(t *testing.T) {
	got := resolvers("# a comment\nnameserver 10.0.0.10\nnameserver fd00::a\nsearch default.svc.cluster.local svc.cluster.local\noptions ndots:5\n\nnameserver\n")
	if want := []string{"10.0.0.10", "fd00::a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReportsAreFoundInLogs: other lines of the log are ignored. If there is no report, the
// error contains the log.
func TestReportsAreFoundInLogs(t *testing.T) {
	r := Report{Resolvers: []string{"10.0.0.10"}, Connections: []Reached{{By: map[string]int{"a": 2}}}}
	back, err := Decode("something\n" + r.Encode() + "else\n")
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := Decode("unknown command \"probe\""); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("%v", err)
	}
	if _, err := Decode(marker + "{"); err == nil {
		t.Error("half a report was read")
	}
}

// TestExpand: a question to each server becomes a question per server, at the end.
func TestExpand(t *testing.T) {
	got := expand([]Question{{Name: "a", Server: EachServer}, {Name: "b"}}, []string{"1", "2"})
	if want := []Question{{Name: "b"}, {Name: "a", Server: "1"}, {Name: "a", Server: "2"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
