package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

func addressOf(i int) string { return fmt.Sprintf("10.20%d.0.1", i+1) }

// exportWeb exports a service with one endpoint from each member. The first member's has a second port.
func exportWeb(t *testing.T, members ...*Member) (ports [2]string) {
	t.Helper()
	shop(t, members...)
	both := objects.Service("shop", "web", 80, 81)
	for i, m := range members {
		service, slice := objects.Service("shop", "web", 80), objects.Slice("shop", "web-1", "web", addressOf(i))
		if i == 0 {
			service = both.DeepCopy()
			other := slice.Ports[0]
			other.Name, other.Port = ptr.To(both.Spec.Ports[1].Name), ptr.To(int32(8081))
			slice.Ports = append(slice.Ports, other)
		}
		planes.Create(t, m.Client, service, slice, objects.Export("shop", "web"))
	}
	return [2]string{both.Spec.Ports[0].Name, both.Spec.Ports[1].Name}
}

// isReady waits until exactly these addresses of a port are ready.
func (p *proxied) isReady(t *testing.T, what, port string, want ...string) {
	t.Helper()
	planes.Eventually(t, what, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !slices.Equal(p.ready[port], want) {
			return fmt.Errorf("ready at %s are %v, want %v", port, p.ready[port], want)
		}
		return nil
	})
}

// isNeverEmpty fails if a port had no ready endpoint at some time: one of these, or any if none is named.
func (p *proxied) isNeverEmpty(t *testing.T, ports ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	without := slices.DeleteFunc(slices.Clone(p.without), func(w string) bool {
		port, _, _ := strings.Cut(w, " ")
		return len(ports) > 0 && !slices.Contains(ports, port)
	})
	if len(without) > 0 {
		t.Errorf("no endpoint was ready: %v", without)
	}
}

func drainExport(t *testing.T, m *Member, drained bool) {
	t.Helper()
	planes.Change(t, m.Client, objects.Export("shop", "web"), func(e *mcsv1beta1.ServiceExport) {
		if e.Annotations = nil; drained {
			e.Annotations = map[string]string{names.AnnotationDrained: "true"}
		}
	})
}

func setReady(t *testing.T, m *Member, ready bool) {
	t.Helper()
	planes.Change(t, m.Client, objects.Slice("shop", "web-1", "web"), func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready, Terminating: ptr.To(false)}
	})
}

func policyFor(kind string, preference trafficv1alpha1.Preference) *trafficv1alpha1.TrafficPolicy {
	return &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "policy"}, Spec: trafficv1alpha1.TrafficPolicySpec{
		TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Group: mcsv1beta1.GroupName, Kind: kind, Name: "web"}}, Preference: preference,
	}}
}

func inCluster(ids ...string) trafficv1alpha1.ClusterGroup {
	return trafficv1alpha1.ClusterGroup{PropertySelector: trafficv1alpha1.PropertySelector{
		MatchExpressions: []trafficv1alpha1.PropertyExpression{{Key: "cluster.clusterset.k8s.io", Operator: metav1.LabelSelectorOpIn, Values: ids}},
	}}
}

// The slice of a port of its own follows its source when no role changes: here a pod is replaced in one write.
func TestSplitSliceFollowsItsSource(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 2, Options{})
	ports := exportWeb(t, members...)
	p := follow(t, members[1], "web")
	p.isReady(t, "both", ports[0], addressOf(0), addressOf(1))
	drainExport(t, members[0], true)
	p.isReady(t, "drained", ports[0], addressOf(1))
	p.isReady(t, "the other port", ports[1], addressOf(0))
	planes.Change(t, members[0].Client, objects.Slice("shop", "web-1", "web"), func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Addresses[0] = "10.201.0.2"
	})
	p.isReady(t, "the other port, with a new pod", ports[1], "10.201.0.2")
}

// Two drained clusters take over at once when the only other one fails: neither waits for the other, nor does the failure.
func TestPromotionsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 4, Options{})
	ports := exportWeb(t, members...)
	p := follow(t, members[3], "web")
	planes.NoError(t, members[3].Client.Delete(t.Context(), objects.Export("shop", "web")))
	drainExport(t, members[0], true)
	drainExport(t, members[1], true)
	p.isReady(t, "drained", ports[0], addressOf(2))
	began := time.Now()
	setReady(t, members[2], false)
	p.isReady(t, "failed over", ports[0], addressOf(0), addressOf(1))
	if took := time.Since(began); took > time.Second {
		t.Errorf("failover took %v", took)
	}
}

// A policy that forbids the clusters that were allowed takes effect without a moment in which no endpoint is ready.
func TestForbiddenClustersGoLast(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 3, Options{})
	ports := exportWeb(t, members...)
	p := follow(t, members[1], "web")
	p.isReady(t, "all", ports[0], addressOf(0), addressOf(1), addressOf(2))
	only := func(i int) trafficv1alpha1.Preference {
		return trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{inCluster(members[i].ID.String())}, Fallback: trafficv1alpha1.FallbackNone}
	}
	policy := policyFor("ServiceImport", only(0))
	planes.Create(t, members[1].Client, policy)
	p.isReady(t, "only the first", ports[0], addressOf(0))
	for i := range 20 {
		to := []int{2, 0}[i%2]
		planes.Change(t, members[1].Client, policy.DeepCopy(), func(p *trafficv1alpha1.TrafficPolicy) { p.Spec.Preference = only(to); p.Generation++ })
		p.isReady(t, "only another", ports[0], addressOf(to))
	}
	p.isNeverEmpty(t, ports[0])
}

// The oldest export's preference applies and ends also if that cluster has no EndpointSlice.
func TestPreferenceWithoutSlices(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 3, Options{})
	shop(t, members...)
	planes.Create(t, members[0].Client, objects.Service("shop", "web", 80), objects.Export("shop", "web"))
	for i, m := range members[1:] {
		planes.Create(t, m.Client, objects.Service("shop", "web", 80), objects.Slice("shop", "web-1", "web", addressOf(i+1)), objects.Export("shop", "web"))
	}
	port := objects.Service("shop", "web", 80).Spec.Ports[0].Name
	p := follow(t, members[2], "web")
	p.isReady(t, "all", port, addressOf(1), addressOf(2))
	policy := policyFor("ServiceExport", trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{inCluster(members[1].ID.String())}})
	planes.Create(t, members[0].Client, policy)
	p.isReady(t, "the preferred one", port, addressOf(1))
	planes.NoError(t, members[0].Client.Delete(t.Context(), objects.Export("shop", "web")))
	p.isReady(t, "the preference has ended", port, addressOf(1), addressOf(2))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An agent that restarts does not know other clusters' exports at first. Its own endpoints keep their roles meanwhile.
func TestRestartKeepsRoles(t *testing.T) {
	prefer := func(p trafficv1alpha1.Preference) func(*testing.T, []*Member) {
		return func(t *testing.T, members []*Member) {
			for i := range p.ClusterSelectors {
				p.ClusterSelectors[i] = inCluster(members[i].ID.String())
			}
			planes.Create(t, members[2].Client, policyFor("ServiceImport", p))
		}
	}
	group := trafficv1alpha1.ClusterGroup{}
	for name, change := range map[string]func(*testing.T, []*Member){
		"on standby": func(t *testing.T, members []*Member) {
			drainExport(t, members[1], true)
			drainExport(t, members[2], true)
		},
		"forbidden":         prefer(trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{group}, Fallback: trafficv1alpha1.FallbackNone}),
		"two groups behind": prefer(trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{group, group}}),
	} {
		for with, reachable := range map[string]bool{"with the broker": true, "without the broker": false} {
			t.Run(name+", "+with, func(t *testing.T) {
				t.Parallel()
				_, members := joinAll(t, 3, Options{})
				ports := exportWeb(t, members...)
				p := follow(t, members[2], "web")
				p.isReady(t, "all", ports[0], addressOf(0), addressOf(1), addressOf(2))
				change(t, members)
				p.isReady(t, "decided", ports[0], addressOf(0))
				planes.NoError(t, members[2].Stop())
				if !reachable {
					members[2].options.Broker.Wrap(func(http.RoundTripper) http.RoundTripper {
						return roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no broker") })
					})
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				planes.NoError(t, members[2].Start(ctx))
				for range 300 {
					p.mu.Lock()
					got := slices.Clone(p.ready[ports[0]])
					p.mu.Unlock()
					if !slices.Equal(got, []string{addressOf(0)}) {
						t.Fatalf("after the restart %v are ready", got)
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
	}
}

// While a rate limit delays the return of the preferred endpoint, the others stay in use.
func TestReturnOfThePreferredIsPaced(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 2, Options{Args: []string{"--slice-write-interval=3s"}})
	ports := exportWeb(t, members...)
	p := follow(t, members[1], "web")
	p.isReady(t, "both", ports[0], addressOf(0), addressOf(1))
	planes.Create(t, members[1].Client, policyFor("ServiceImport", trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{inCluster(members[1].ID.String())}}))
	p.isReady(t, "the preferred one", ports[0], addressOf(1))
	for range 6 {
		setReady(t, members[1], false)
		p.isReady(t, "the other one", ports[0], addressOf(0))
		setReady(t, members[1], true)
		p.isReady(t, "the preferred one again", ports[0], addressOf(1))
		p.isNeverEmpty(t)
	}
}

// Without the broker an agent does not know the properties of clusters, its own included. A policy for its region takes no
// endpoint out of use then.
func TestRestartKeepsRegion(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 2, Options{})
	ports := exportWeb(t, members...)
	p := follow(t, members[1], "web")
	planes.Create(t, members[1].Client, &aboutv1beta1.ClusterProperty{ObjectMeta: metav1.ObjectMeta{Name: "region"}, Spec: aboutv1beta1.ClusterPropertySpec{Value: "eu"}})
	planes.Create(t, members[1].Client, policyFor("ServiceImport", trafficv1alpha1.Preference{Fallback: trafficv1alpha1.FallbackNone, ClusterSelectors: []trafficv1alpha1.ClusterGroup{{
		PropertySelector: trafficv1alpha1.PropertySelector{MatchProperties: map[string]string{"region": "@SameAsImporter@"}},
	}}}))
	p.isReady(t, "in the region", ports[0], addressOf(1))
	planes.NoError(t, members[1].Stop())
	members[1].options.Broker.Wrap(func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no broker") })
	})
	planes.NoError(t, members[1].Start(t.Context()))
	for range 200 {
		time.Sleep(5 * time.Millisecond)
		p.isReady(t, "after the restart", ports[0], addressOf(1))
	}
	p.isNeverEmpty(t)
}

// A member that becomes ready and unready all the time causes no more writes of others' slices than a member may cause of its own.
func TestFlappingIsLimited(t *testing.T) {
	t.Parallel()
	const duration, perSecond, burst = 10 * time.Second, 100, 1000 // the pace of members' changes
	_, members := joinAll(t, 3, Options{})
	ports := exportWeb(t, members...)
	p := follow(t, members[2], "web")
	planes.Create(t, members[2].Client, policyFor("ServiceImport", trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{inCluster(members[0].ID.String())}}))
	for i := range 40 {
		planes.Create(t, members[1].Client, objects.Slice("shop", fmt.Sprintf("web-x%d", i), "web", fmt.Sprintf("10.202.1.%d", i+1)))
	}
	p.isReady(t, "the preferred one", ports[0], addressOf(0))
	time.Sleep(2 * time.Second)
	before, began, ready, n := counted(members[2]), time.Now(), true, 0
	for ; time.Since(began) < duration; n++ {
		ready = !ready
		setReady(t, members[0], ready)
		time.Sleep(20 * time.Millisecond)
	}
	written := counted(members[2]).minus(before)["written endpointslices"]
	t.Logf("%d changes in %v: %d writes", n, time.Since(began), written)
	if most := burst + perSecond*int(duration.Seconds()); written > most {
		t.Errorf("%d writes, at most %d are allowed", written, most)
	}
}

// A slice that is missing on the broker is kept. If it stands by, it serves again when nothing else does.
func TestKeptSliceServes(t *testing.T) {
	t.Parallel()
	b, members := joinAll(t, 2, Options{})
	ports := exportWeb(t, members...)
	p := follow(t, members[1], "web")
	p.isReady(t, "both", ports[0], addressOf(0), addressOf(1))
	planes.Create(t, members[1].Client, policyFor("ServiceImport", trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{inCluster(members[1].ID.String())}}))
	p.isReady(t, "the preferred one", ports[0], addressOf(1))
	planes.NoError(t, members[0].Stop())
	planes.NoError(t, b.Admin.DeleteAllOf(t.Context(), &discoveryv1.EndpointSlice{}, client.InNamespace(broker.DefaultNamespace)))
	planes.NoError(t, members[1].Stop())
	planes.NoError(t, members[1].Start(t.Context()))
	time.Sleep(3 * time.Second)
	setReady(t, members[1], false)
	p.isReady(t, "the kept one", ports[0], addressOf(0))
}

// A new process keeps the slices of a port that the broker has lost, and deletes them when their source has come back without the port.
func TestKeptSplitSliceFollowsItsSource(t *testing.T) {
	t.Parallel()
	b, members := joinAll(t, 2, Options{})
	ports := exportWeb(t, members...)
	p := follow(t, members[1], "web")
	drainExport(t, members[0], true)
	p.isReady(t, "drained", ports[0], addressOf(1))
	p.isReady(t, "the other port", ports[1], addressOf(0))
	for _, m := range members {
		planes.NoError(t, m.Stop())
	}
	planes.NoError(t, b.Admin.DeleteAllOf(t.Context(), &discoveryv1.EndpointSlice{}, client.InNamespace(broker.DefaultNamespace)))
	planes.NoError(t, members[1].Start(t.Context()))
	planes.Change(t, members[1].Client, objects.Slice("shop", "web-1", "web"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.202.0.9" })
	p.isReady(t, "the new process works", ports[0], "10.202.0.9")
	p.isReady(t, "the kept one", ports[1], addressOf(0))

	planes.Change(t, members[0].Client, objects.Slice("shop", "web-1", "web"), func(s *discoveryv1.EndpointSlice) { s.Ports = s.Ports[:1] })
	planes.NoError(t, members[0].Start(t.Context()))
	p.isReady(t, "without the port", ports[1])
	p.isReady(t, "the other port, drained", ports[0], "10.202.0.9")
}

// For a proxy that uses endpoints on standby like ready ones, they are not written. A failover waits for the agent.
func TestOmitStandby(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 3, Options{Args: []string{"--omit-standby-endpoints"}})
	ports := exportWeb(t, members...)
	p := follow(t, members[2], "web")
	p.isReady(t, "all", ports[0], addressOf(0), addressOf(1), addressOf(2))
	drainExport(t, members[0], true)
	drainExport(t, members[2], true)
	p.isReady(t, "drained", ports[0], addressOf(1))
	p.isReady(t, "the port that only the drained cluster has", ports[1], addressOf(0))
	all := &discoveryv1.EndpointSliceList{}
	planes.NoError(t, members[2].Client.List(t.Context(), all, client.InNamespace("shop"), client.HasLabels{names.LabelSourceCluster}))
	for _, s := range all.Items {
		for _, e := range s.Endpoints {
			if !ptr.Deref(e.Conditions.Ready, true) {
				t.Errorf("%s has an endpoint that is not ready: %v", s.Name, e)
			}
		}
	}
	setReady(t, members[1], false)
	p.isReady(t, "failed over", ports[0], addressOf(0), addressOf(2))
	drainExport(t, members[2], false)
	p.isReady(t, "undrained", ports[0], addressOf(2))
	p.isNeverEmpty(t)
}

// A policy with weights for an export says that it has no effect while another exporter publishes cluster IPs instead of pods.
func TestWeightsBesideClusterIPs(t *testing.T) {
	t.Parallel()
	b, err := MemoryBroker()
	planes.NoError(t, err)
	var members []*Member
	for i, args := range [][]string{nil, {"--advertise-mode=cluster-ip"}} {
		m, err := Join(t.Context(), b, i+1, Options{Args: args})
		planes.NoError(t, err)
		t.Cleanup(func() { planes.NoError(t, m.Stop()) })
		members = append(members, m)
	}
	shop(t, members...)
	for i, m := range members {
		planes.Create(t, m.Client, objects.Service("shop", "web", 80), objects.Slice("shop", "web-1", "web", addressOf(i)))
	}
	policy := policyFor("ServiceExport", trafficv1alpha1.Preference{Weights: []trafficv1alpha1.ClusterWeight{{Cluster: members[0].ID.String(), Weight: 1}}})
	planes.Create(t, members[0].Client, objects.Export("shop", "web"), policy)
	is := func(want metav1.ConditionStatus) {
		t.Helper()
		planes.Until(t, "the policy is accepted: "+string(want), members[0].Client, policy, func() error {
			if len(policy.Status.Targets) != 1 || policy.Status.Targets[0].Conditions[0].Status != want {
				return fmt.Errorf("the status is %+v", policy.Status)
			}
			return nil
		})
	}
	is(metav1.ConditionTrue)
	planes.Create(t, members[1].Client, objects.Export("shop", "web"))
	is(metav1.ConditionFalse)
	planes.Delete(t, members[1].Client, objects.Export("shop", "web"))
	is(metav1.ConditionTrue)
}
