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
	"github.com/atoll-mcs/atoll/test/planes"
)

// network is what gets through: between members and the broker, and to members' pods.
type network struct {
	broker  *Broker
	mu      sync.Mutex
	cut     map[names.ClusterID]bool // from the broker
	dead    map[string]bool          // by the beginning of pods' addresses
	ended   map[names.ClusterID]context.CancelFunc
	during  map[names.ClusterID]context.Context
	dialled map[string]int
	accept  bool // connections to pods
}

// joinOver has members join a clusterset over a network, who miss each other after 2 s.
func joinOver(t *testing.T, count int) (*network, []*Member) {
	t.Helper()
	b, err := MemoryBroker()
	planes.NoError(t, err)
	n := &network{
		broker: b, cut: map[names.ClusterID]bool{}, dead: map[string]bool{}, dialled: map[string]int{},
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

// pass ends when the member's way to the broker is cut, and so does the response.
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

// pods has the pods with addresses that begin so be alive or not.
func (n *network) pods(prefix string, alive bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead[prefix] = !alive
}

// dial answers for pods: nobody listens there.
func (n *network) dial(_ context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, _, err := net.SplitHostPort(address)
	if err != nil || network != "tcp" {
		return nil, fmt.Errorf("%s %s: %w", network, address, err)
	}
	prefix := host[:strings.LastIndex(host, ".")]
	n.dialled[prefix]++
	if n.dead[prefix] {
		return nil, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	}
	if n.accept {
		conn, _ := net.Pipe()
		return conn, nil
	}
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

func (n *network) dials(prefix string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialled[prefix]
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

// lost is nil when a member takes exactly these for lost.
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

// sayings are how often an agent has told of something, by reason and name of the object.
type sayings struct {
	mu    sync.Mutex
	count map[string]int
	want  map[string]int // by the end of the test
}

// listen hears what a member's agents tell from now on. When the test ends, it stops the member's agent and checks that
// what was expected was not told more often.
func listen(t *testing.T, m *Member) *sayings {
	t.Helper()
	s := &sayings{count: map[string]int{}, want: map[string]int{}}
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

// expect waits until something was told n times, and has the end of the test find no more.
func (s *sayings) expect(t *testing.T, n int, reason, about string) {
	t.Helper()
	what := reason + " " + about
	eventually(t, fmt.Sprintf("%d Events %s on %s", n, reason, about), func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.want[what] = n; s.count[what] < n {
			return fmt.Errorf("there are %d", s.count[what])
		}
		return nil
	})
}

// TestEndpointsThatCeaseToAnswer has a member not reach the broker while its pods answer, but for some that go: nobody tells of them.
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
	asked := func(prefix string, times int) {
		t.Helper()
		want := n.dials(prefix) + times
		eventually(t, "it is asked", func(context.Context) error {
			if have := n.dials(prefix); have < want {
				return fmt.Errorf("%d times, want %d", have, want)
			}
			return nil
		})
	}
	n.cutOff(silent.ID)
	asked("10.202.1", 2)
	n.pods("10.202.1", false)
	n.pods("10.202.2", false)
	expect(t, "what ceases to answer is withdrawn, but where it is kept", importing, "10.202.0.1", "10.202.2.1")
	said.expect(t, 1, "EndpointsLost", "db")
	asked("10.202.0", 3) // a round is decided and stored before the next one but one
	planes.NoError(t, lost(t.Context(), importing))
	n.pods("10.202.1", true)
	expect(t, "it is back when it answers", importing, all...)
	n.pods("10.202.1", false)
	expect(t, "it is withdrawn again", importing, "10.202.0.1", "10.202.2.1")
	said.expect(t, 2, "EndpointsLost", "db")
	n.heal(silent.ID)
	expect(t, "the member itself is believed", importing, all...)
}
