package convergence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// If the API server refuses a policy, the hub sets a condition on its MultiClusterService and
// keeps running: it writes and confirms all other policies. The hub reports that policies were
// refused, so that members keep policies that are missing.
func TestRefusedPolicy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := apiserver.New(250)
		admin, err := client.NewWithWatch(api.Config(), client.Options{Scheme: simulation.Scheme()})
		planes.NoError(t, err)
		planes.Create(t, admin, made.Namespace(broker.DefaultNamespace), made.Namespace("shop"))
		var log bytes.Buffer
		config := api.Config()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet || !strings.HasSuffix(r.URL.Path, "/servicepolicies") {
					return next.RoundTrip(r)
				}
				body, err := r.GetBody()
				if err != nil {
					return nil, err
				}
				if text, err := io.ReadAll(body); err != nil || bytes.Contains(text, []byte("long-name")) {
					return refusal(r, apierrors.NewInvalid(schema.GroupKind{Kind: "ServicePolicy"}, "long-name", nil))
				}
				return next.RoundTrip(r)
			})
		})
		h := newHub(config, rand.New(rand.NewPCG(1, 1)), slog.New(slog.NewTextHandler(&log, nil)))
		long := made.Exposed("shop", "long-name", networkingv1alpha1.ExposureTypeCrossCluster)
		planes.Create(t, admin, long, made.Exposed("shop", "web", networkingv1alpha1.ExposureTypeCrossCluster))
		<-time.After(10 * time.Minute)
		planes.Read(t, admin, long)
		if c := meta.FindStatusCondition(long.Status.Conditions, networkingv1alpha1.ConditionExported); c == nil || c.Reason != networkingv1alpha1.ReasonPolicyRefused {
			t.Errorf("the condition is %+v", c)
		}
		planes.Read(t, admin, &brokerv1alpha1.ServicePolicy{ObjectMeta: made.Meta(broker.DefaultNamespace, "web.shop")})
		lease := &coordinationv1.Lease{ObjectMeta: made.Meta(broker.DefaultNamespace, names.HubOwner.String())}
		planes.Read(t, admin, lease)
		if c := layout.Counter(lease); c.Count < 8 || !c.Refused {
			t.Errorf("the hub's counter is %+v", c)
		}
		planes.NoError(t, h.end())
		if text := log.String(); strings.Contains(text, "restarts") {
			t.Errorf("the hub has restarted its controllers:\n%s", text)
		}
	})
}

// A policy restricts its export until the ServiceExport that an agent created for it is
// deleted, even if the API server refuses the deletion.
func TestWithdrawnPolicyRestrictsItsExport(t *testing.T) {
	for name, spec := range map[string]brokerv1alpha1.ServicePolicySpec{
		"for the hub": {Scope: brokerv1alpha1.ScopeHub}, "for one consumer": {Scope: brokerv1alpha1.ScopeClusterset, Consumers: []string{"sim1"}},
		"one port": {Scope: brokerv1alpha1.ScopeClusterset, Ports: []brokerv1alpha1.PolicyPort{{Port: 80}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				refuses := func(next http.RoundTripper) http.RoundTripper {
					return trip(func(r *http.Request) (*http.Response, error) {
						if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/serviceexports/") {
							return refusal(r, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceexports"}, "web", errors.New("a policy engine")))
						}
						return next.RoundTrip(r)
					})
				}
				p := newPair(t, simulation.Options{Wrap: refuses})
				planes.Create(t, p.from, made.Service("shop", "web", 80, 81), made.Slice("shop", "web-x", "web", "10.1.1.1"))
				spec.ServiceNamespace, spec.ServiceName = "shop", "web"
				policy := &brokerv1alpha1.ServicePolicy{ObjectMeta: made.Meta(broker.DefaultNamespace, "web.shop"), Spec: spec}
				policy.Annotations = map[string]string{names.AnnotationRevision: "5"}
				planes.Create(t, p.admin, policy)
				p.within("the service is exported", time.Minute, p.published("web", true))
				follows := func(when string) {
					t.Helper()
					export, policy := made.Export("shop", "web"), brokerv1alpha1.ServicePolicySpec{}
					planes.Read(t, p.from, export)
					planes.NoError(t, json.Unmarshal([]byte(export.Annotations[names.AnnotationPolicy]), &policy))
					record, published := p.record("web")
					is := record.(*brokerv1alpha1.ExportedService).Spec
					var ports []brokerv1alpha1.PolicyPort
					for _, port := range is.Ports {
						ports = append(ports, brokerv1alpha1.PolicyPort{Port: port.Port})
					}
					exposed := spec.Ports
					if exposed == nil { // the policy exposes all
						exposed = []brokerv1alpha1.PolicyPort{{Port: 80}, {Port: 81}}
					}
					if !published || (is.Scope == brokerv1alpha1.ScopeHub) != (spec.Scope == brokerv1alpha1.ScopeHub) ||
						policy.Scope != spec.Scope || !slices.Equal(policy.Consumers, spec.Consumers) || !slices.Equal(policy.Ports, spec.Ports) ||
						!slices.Equal(is.Consumers, spec.Consumers) || !slices.Equal(ports, exposed) {
						t.Errorf("%s: published=%t, the record is %+v, the ServiceExport's policy %+v", when, published, is, policy)
					}
				}
				<-time.After(10 * time.Second) // the ServiceExport has its annotations and its status
				follows("the policy is there")
				planes.Change(t, p.admin, policy, func(p *brokerv1alpha1.ServicePolicy) { layout.Withdraw(p) })
				<-time.After(5 * time.Minute)
				follows("the policy is withdrawn")
			})
		})
	}
}

// A cluster that missed the end of a policy without effect does not follow the policy after
// the settling time of quiet worlds: a Service that appears is not exported, and the other
// cluster's export is not imported into a namespace that appears.
func TestMissedEndWithoutEffect(t *testing.T) {
	try(t, 1, func(w *world, ctx context.Context) error {
		if w.hub == nil {
			w.hub = newHub(w.broker.Config(), w.random, slog.New(slog.DiscardHandler))
		}
		w.quiet = true
		c, other := w.clusters[0], w.clusters[1]
		exported, imported := types.NamespacedName{Namespace: "shop", Name: "ended"}, types.NamespacedName{Namespace: "bank", Name: "ended"}
		for _, has := range []struct {
			cluster   *cluster
			namespace string
			exists    bool
		}{{c, exported.Namespace, true}, {c, imported.Namespace, false}, {other, imported.Namespace, true}} {
			if has.cluster.users.namespaces[has.namespace] == has.exists {
				continue
			}
			if err := has.cluster.makeNamespace(ctx, has.namespace, has.exists); err != nil {
				return err
			}
		}
		if err := other.makeService(ctx, made.Service(imported.Namespace, imported.Name, 80)); err != nil {
			return err
		}
		for _, key := range []types.NamespacedName{exported, imported} {
			if err := w.admin.Create(ctx, made.Namespace(key.Namespace)); client.IgnoreAlreadyExists(err) != nil {
				return err
			}
			if err := w.admin.Create(ctx, made.Exposed(key.Namespace, key.Name, networkingv1alpha1.ExposureTypeCrossCluster)); err != nil {
				return err
			}
		}
		if err := w.settle(ctx, soon); err != nil {
			return err
		}
		if err := missEnd(ctx, w, c); err != nil {
			return err
		}
		if err := w.settle(ctx, usual); err != nil {
			return err
		}
		w.allowComparisons(false)
		if err := c.makeService(ctx, made.Service(exported.Namespace, exported.Name, 80)); err != nil {
			return err
		}
		if err := c.makeNamespace(ctx, imported.Namespace, true); err != nil {
			return err
		}
		return w.settle(ctx, soon)
	})
}

// A member's own import and the import statuses in other clusters follow the member's
// permission, while its agent runs and while its agent is stopped.
func TestPermissionFollowed(t *testing.T) {
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("away=%t", away), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := newPair(t, simulation.Options{})
				p.export("web", "10.1.1.1")
				planes.Create(t, p.to, made.Service("shop", "web", 80), made.Slice("shop", "web-y", "web", "10.2.1.1"), made.Export("shop", "web"))
				imports := func(c client.Client, clusters []string, addresses ...string) func() error {
					return func() error {
						imp := made.Import("shop", "web")
						if err := c.Get(p.Context(), client.ObjectKeyFromObject(imp), imp); err != nil {
							return err
						}
						var ids []string
						for _, s := range imp.Status.Clusters {
							ids = append(ids, s.Cluster)
						}
						if have := p.endpoints(c, "web"); !slices.Equal(ids, clusters) || !slices.Equal(have, addresses) {
							return fmt.Errorf("clusters %v, endpoints %v, want %v, %v", ids, have, clusters, addresses)
						}
						return nil
					}
				}
				both := func(c client.Client) func() error {
					return imports(c, []string{"sim1", "sim2"}, "10.1.1.1", "10.2.1.1")
				}
				one := func(c client.Client) func() error { return imports(c, []string{"sim2"}, "10.2.1.1") }
				follows := func(data map[string]string, when string, meanwhile, then func(client.Client) func() error) {
					t.Helper()
					if away {
						planes.NoError(t, p.exporter.Stop())
					}
					planes.Permit(t, p.admin, data)
					if away {
						<-time.After(time.Minute)
						if err := meanwhile(p.to)(); err != nil {
							t.Errorf("%s, in the other cluster: %v", when, err)
						}
						planes.NoError(t, p.exporter.Start(t.Context()))
					}
					p.within(when, time.Minute, then(p.from), then(p.to))
				}
				p.within("both", time.Minute, both(p.from), both(p.to))
				follows(map[string]string{"namespaces.sim1": "other"}, "permission withdrawn", one, one)
				follows(map[string]string{}, "permission restored", one, both) // its record is withdrawn until its agent writes it
			})
		})
	}
}
