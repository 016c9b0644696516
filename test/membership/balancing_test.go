package membership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// balanced deploys a hub and exposes port 18080 of a Service by a load balancer without
// backends. It returns the MultiClusterService and the load balancer's address.
func balanced(t *testing.T, ns string, change ...func(*hub.Options)) (*networkingv1alpha1.MultiClusterService, string) {
	t.Helper()
	deployBroker(t)
	address := fmt.Sprintf("127.%d.%d.9", 1+rand.N(250), rand.N(250))
	deployHub(t, "", append(change, func(o *hub.Options) {
		o.Addresses, o.ProviderOptions = []string{address}, []string{"drain=100ms"}
	})...)
	web := service(ns, "web")
	web.Spec.Ports[0].Port = 18080
	create(t, lab.Broker, namespace(ns), web)
	mcs := objects.Exposed(ns, "web", networkingv1alpha1.ExposureTypeLoadBalancer)
	eventually(t, "the broker accepts the MultiClusterService", func() error { return on[lab.Broker].Create(t.Context(), mcs) })
	expectCondition(t, mcs, "LoadBalancerReady", metav1.ConditionTrue, address)
	t.Cleanup(func() { // before the hub stops, because the hub releases the address
		ctx := context.Background()
		noError(t, on[lab.Broker].Delete(ctx, mcs))
		eventually(t, "the MultiClusterService is deleted", func() error { return planes.IsGone(on[lab.Broker].Get(ctx, client.ObjectKeyFromObject(mcs), mcs)) })
	})
	return mcs, net.JoinHostPort(address, "18080")
}

// accepts returns nil if the address accepts connections. A load balancer without backends
// resets them.
func accepts(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	if err != nil {
		return err
	}
	return conn.Close()
}

// A leader that has lost its lease to another replica stops its load balancers, because the new
// leader runs them. When it leads again, it runs them again, at the same address.
func TestFormerLeaderStandsDown(t *testing.T) {
	mcs, address := balanced(t, "standing-down", func(o *hub.Options) { o.LeaderElect = true })
	noError(t, accepts(address))
	lease := &coordinationv1.Lease{ObjectMeta: objects.Meta(names.HubNamespace, "atoll-hub.atoll.dev")}
	hold := func(who string) {
		t.Helper()
		planes.Until(t, fmt.Sprintf("the lease is held by %q", who), on[lab.Broker], lease, func() error {
			lease.Spec.HolderIdentity, lease.Spec.RenewTime = ptr.To(who), ptr.To(metav1.NowMicro())
			return on[lab.Broker].Update(t.Context(), lease)
		})
	}
	// A lease that is lost and regained at once has no effect.
	hold("another-replica")
	hold("")
	planes.Until(t, "the hub holds its lease again", on[lab.Broker], lease, func() error {
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return errors.New("no replica holds the lease")
		}
		return nil
	})
	planes.Succeeds(t, "after that", accepts(address))
	hold("another-replica")
	eventually(t, "the load balancer stops", func() error {
		if err := accepts(address); !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	hold("")
	eventually(t, "the load balancer runs again", func() error { return accepts(address) })
	expectCondition(t, mcs, "LoadBalancerReady", metav1.ConditionTrue, strings.TrimSuffix(address, ":18080"))
}

// The hub's metrics are correct and documented.
func TestHubServesMetrics(t *testing.T) {
	ports, err := lab.FreePorts(1)
	noError(t, err)
	at := ports[0].String()
	const ns = "measured"
	_, address := balanced(t, ns, func(o *hub.Options) { o.MetricsAddress, o.AllowUnsetRanges = at, true })
	read := func() string {
		t.Helper()
		response, err := http.Get("http://" + at + "/metrics")
		noError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		noError(t, err)
		return string(text)
	}
	expect := func(when string, want map[string]float64) {
		t.Helper()
		eventually(t, when, func() error {
			metrics := bed.ParseMetrics(read())
			for key, value := range want {
				words := strings.Fields(key)
				if got := metrics.Sum("atoll_loadbalancer"+words[0], append([]string{"provider", "embedded"}, words[1:]...)...); got != value {
					return fmt.Errorf("%s is %v, not %v", key, got, value)
				}
			}
			return nil
		})
	}
	_ = accepts(address)
	expect("without backends", map[string]float64{
		"s": 1, "_backends": 0, "_connections protocol TCP": 0, "_connections_total protocol TCP": 1, "_connections_failed_total protocol TCP": 1,
	})

	// This is an agent's record and slice. Whether the address answers depends on the machine's
	// network.
	create(t, lab.Broker, objects.Record("c1", ns, "web", objects.Port(80)), objects.Published("c1", ns, "web-x", "web", "203.0.113.1"))
	expect("with one", map[string]float64{"_backends": 1, "_backends state draining": 0})
	if got := bed.ParseMetrics(read()).Sum("atoll_loadbalancer_call_duration_seconds_count", "operation", "update", "result", "success"); got < 1 {
		t.Errorf("%v successful update calls, want at least 1", got)
	}
	planes.MetricsDocumented(t, true, read())
}
