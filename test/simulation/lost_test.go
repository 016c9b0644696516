package simulation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// network simulates the connections between members and the broker, and to members' pods.
type network struct {
	broker  *Broker
	mu      sync.Mutex
	cut     map[names.ClusterID]bool // members without a connection to the broker
	dead    map[string]bool          // by prefix of the pods' addresses
	ended   map[names.ClusterID]context.CancelFunc
	during  map[names.ClusterID]context.Context
	dialled map[names.ClusterID]map[string]int // by who connected, and by prefix
	accept  bool                               // connections to pods
}

// joinOver starts members that use a network. A member counts as lost after 2 s.
func joinOver(t *testing.T, count int) (*network, []*Member) {
	t.Helper()
	b, err := MemoryBroker()
	planes.NoError(t, err)
	n := &network{
		broker: b, cut: map[names.ClusterID]bool{}, dead: map[string]bool{}, dialled: map[names.ClusterID]map[string]int{},
		ended: map[names.ClusterID]context.CancelFunc{}, during: map[names.ClusterID]context.Context{},
	}
	b.Invite = func(_ context.Context, id names.ClusterID) (*rest.Config, error) {
		n.heal(id)
		config := b.API.Config()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripperFunc(func(r *http.Request) (*http.Response, error) { return n.pass(id, next, r) })
		})
		return config, nil
	}
	return n, joinTo(t, b, count, Options{Args: []string{"--lease-timeout=2s"}, Dial: n.dial})
}

// pass ends with the member's connection to the broker, and so does the response.
func (n *network) pass(id names.ClusterID, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	cut, during := n.cut[id], n.during[id]
	n.mu.Unlock()
	if cut {
		return nil, errors.New("cut off")
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(during, cancel)
	response, err := next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
	}
	return response, err
}

func (n *network) cutOff(id names.ClusterID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[id] = true
	n.ended[id]()
}

func (n *network) heal(id names.ClusterID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[id] = false
	n.during[id], n.ended[id] = context.WithCancel(context.Background())
}

// pods sets whether pods with an address prefix are alive.
func (n *network) pods(prefix string, alive bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead[prefix] = !alive
}

// dial simulates connections to pods. No pod listens, so a live pod refuses the connection.
func (n *network) dial(_ context.Context, from names.ClusterID, network, address string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, _, err := net.SplitHostPort(address)
	if err != nil || network != "tcp" {
		return nil, fmt.Errorf("%s %s: %w", network, address, err)
	}
	prefix := host[:strings.LastIndex(host, ".")]
	if n.dialled[from] == nil {
		n.dialled[from] = map[string]int{}
	}
	n.dialled[from][prefix]++
	if n.dead[prefix] {
		return nil, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	}
	if n.accept {
		conn, _ := net.Pipe()
		return conn, nil
	}
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

// dials returns how often a member has connected to pods with an address prefix.
func (n *network) dials(from *Member, prefix string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialled[from.ID][prefix]
}

func expect(t *testing.T, what string, m *Member, want ...string) {
	t.Helper()
	eventually(t, m.ID.String()+": "+what, func(ctx context.Context) error {
		have, err := planes.Endpoints(ctx, m.Client)
		if err == nil && !slices.Equal(have, want) {
			err = fmt.Errorf("the endpoints are %v", have)
		}
		return err
	})
}

// lost returns nil if a member has stored exactly these clusters as lost.
func lost(ctx context.Context, m *Member, want ...string) error {
	stored := &corev1.ConfigMap{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.LostClusters}, stored); client.IgnoreNotFound(err) != nil {
		return err
	}
	var have []string
	for id := range stored.Data {
		have = append(have, id)
	}
	if slices.Sort(have); !slices.Equal(have, want) {
		return fmt.Errorf("lost are %v", have)
	}
	return nil
}

// eventCounts counts an agent's Events, by reason and object name.
type eventCounts struct {
	mu    sync.Mutex
	count map[string]int
	want  map[string]int // expected counts at the end of the test
}

// listen counts the Events of a member's agents from now on. The cleanup stops the agent and
// checks that no expected Event was sent more often.
func listen(t *testing.T, m *Member) *eventCounts {
	t.Helper()
	s := &eventCounts{count: map[string]int{}, want: map[string]int{}}
	m.API.OnEvent(func(e *eventsv1.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count[e.Reason+" "+e.Regarding.Name]++
	})
	t.Cleanup(func() {
		planes.NoError(t, m.Stop())
		s.mu.Lock()
		defer s.mu.Unlock()
		for what, n := range s.want {
			if s.count[what] != n {
				t.Errorf("%s: %d Events %s, want %d", m.ID, s.count[what], what, n)
			}
		}
	})
	return s
}

// expect waits for n Events. The cleanup checks that no more were sent.
func (s *eventCounts) expect(t *testing.T, n int, reason, about string) {
	t.Helper()
	what := reason + " " + about
	eventually(t, fmt.Sprintf("%d Events %s on %s", n, reason, about), func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.want[what] = n; s.count[what] < n {
			return fmt.Errorf("%d so far", s.count[what])
		}
		return nil
	})
}

// TestEndpointsThatCeaseToAnswer cuts a member off from the broker while its pods answer. Some
// pods then stop, and no update reports them.
func TestEndpointsThatCeaseToAnswer(t *testing.T) {
	waits(t)
	n, members := joinOver(t, 2)
	n.mu.Lock()
	n.accept = true
	n.mu.Unlock()
	importing, silent := members[0], members[1]
	shop(t, members...)
	export(t, silent, "web", "10.202.0.1", "")
	export(t, silent, "db", "10.202.1.1", "")
	export(t, silent, "kept", "10.202.2.1", "keep")
	said := listen(t, importing)
	all := []string{"10.202.0.1", "10.202.1.1", "10.202.2.1"}
	expect(t, "everything is imported", importing, all...)
	// asked waits until all endpoints have been probed: a member whose heartbeat is late is asked at one of them.
	asked := func(times int) {
		t.Helper()
		want := map[string]int{}
		for _, prefix := range []string{"10.202.0", "10.202.1", "10.202.2"} {
			want[prefix] = n.dials(importing, prefix) + times
		}
		eventually(t, "the endpoints are probed", func(context.Context) error {
			for prefix, times := range want {
				if have := n.dials(importing, prefix); have < times {
					return fmt.Errorf("%s: %d times, want %d", prefix, have, times)
				}
			}
			return nil
		})
	}
	n.cutOff(silent.ID)
	asked(2)
	n.pods("10.202.1", false)
	n.pods("10.202.2", false)
	expect(t, "endpoints that stop answering are withdrawn, except of services that keep them", importing, "10.202.0.1", "10.202.2.1")
	said.expect(t, 1, "EndpointsLost", "db")
	asked(3) // the agent stores the result of a round before the round after the next
	planes.NoError(t, lost(t.Context(), importing))
	n.pods("10.202.1", true)
	expect(t, "it is back when it answers", importing, all...)
	n.pods("10.202.1", false)
	expect(t, "it is withdrawn again", importing, "10.202.0.1", "10.202.2.1")
	said.expect(t, 2, "EndpointsLost", "db")
	n.heal(silent.ID)
	expect(t, "the member itself is believed", importing, all...)
}

// A new process asks the endpoints that are imported of services that it does not know from the broker, also if it knows an empty slice
// of another service: the member is not lost.
func TestImportedEndpointsAreAsked(t *testing.T) {
	waits(t)
	n, members := joinOver(t, 2)
	importing, silent := members[0], members[1]
	shop(t, members...)
	export(t, silent, "web", "10.202.0.1", "")
	planes.Create(t, silent.Client, objects.Service("shop", "empty", 80), objects.Slice("shop", "empty-1", "empty"), objects.Export("shop", "empty"))
	expect(t, "imported", importing, "10.202.0.1")
	planes.NoError(t, importing.Stop())
	n.cutOff(silent.ID)
	slice := objects.Published(silent.ID.String(), "shop", "web-1", "web")
	planes.Delete(t, n.broker.Admin, slice)
	before := n.dials(importing, "10.202.0")
	planes.NoError(t, importing.Start(t.Context()))
	eventually(t, "it is asked several times after its heartbeat is missing", func(context.Context) error {
		if dials := n.dials(importing, "10.202.0") - before; dials < 20 {
			return fmt.Errorf("%d connections", dials)
		}
		return nil
	})
	planes.NoError(t, lost(t.Context(), importing))
	expect(t, "still imported", importing, "10.202.0.1")
}
