package convergence

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	made "github.com/atoll-mcs/atoll/test/objects"
)

// runningHub is a hub with its connection to the broker.
type runningHub struct {
	*process
	way    *way
	config *rest.Config
	log    *slog.Logger
}

func newHub(broker *rest.Config, random *rand.Rand, log *slog.Logger) *runningHub {
	h := &runningHub{way: newWay(random), config: broker, log: log.With("of", "hub")}
	h.start()
	return h
}

func (h *runningHub) start() {
	p := newProcess()
	h.process = p
	config := rest.CopyConfig(h.config)
	config.Host = "http://192.0.2.1" // the hub looks up names, which must not leave the bubble
	config.Wrap(h.way.of(p.life))
	options := hub.Options{Config: config, Clusterset: brokerpkg.DefaultNamespace, MetricsAddress: "0", HealthAddress: "0", PprofAddress: "0", Provider: "embedded"}
	go func() { p.done <- hub.Run(p.life, options, h.log) }()
}

// killHub kills the hub and starts another.
func killHub(_ context.Context, w *world, _ *cluster) error {
	if w.hub == nil {
		return nil
	}
	if err := w.hub.end(); err != nil {
		return err
	}
	w.hub.start()
	return nil
}

// hinderHub cuts the hub's connection to the broker or disturbs it.
func hinderHub(_ context.Context, w *world, _ *cluster) error {
	switch {
	case w.hub == nil:
	case w.random.IntN(2) == 0:
		w.hub.way.stop()
	default:
		w.hub.way.worsen(w.someTrouble())
	}
	return nil
}

// changeExposure creates or changes a MultiClusterService on the broker.
func changeExposure(ctx context.Context, w *world, _ *cluster) error {
	if w.hub == nil {
		return nil
	}
	want := w.someExposure(w.someName())
	err := w.admin.Create(ctx, made.Namespace(want.Namespace)) // a replaced broker lacks the namespace
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	have := &networkingv1alpha1.MultiClusterService{}
	switch err := w.admin.Get(ctx, keyOf(want), have); {
	case apierrors.IsNotFound(err):
		return w.admin.Create(ctx, want)
	case err != nil:
		return err
	}
	have.Spec = want.Spec
	return w.admin.Update(ctx, have)
}

// endExposure deletes a MultiClusterService.
func endExposure(ctx context.Context, w *world, _ *cluster) error {
	all, err := list(ctx, w.admin, &networkingv1alpha1.MultiClusterServiceList{})
	if err != nil || len(all.Items) == 0 {
		return err
	}
	return w.admin.Delete(ctx, &all.Items[w.random.IntN(len(all.Items))])
}

// missEnd deletes MultiClusterServices while a cluster is cut off from the broker for longer
// than the broker keeps withdrawn policies.
func missEnd(ctx context.Context, w *world, c *cluster) error {
	all, err := list(ctx, w.admin, &networkingv1alpha1.MultiClusterServiceList{})
	if err != nil || len(all.Items) == 0 {
		return err
	}
	for _, g := range w.guards {
		g.excuse(c.id.String())
	}
	c.broker.stop()
	for i := range all.Items {
		if err := w.admin.Delete(ctx, &all.Items[i]); err != nil {
			return err
		}
	}
	pause(ctx, emptyFor+usual)
	c.broker.heal()
	c.isolated = false // it withdraws nothing only while it has no broker either
	return nil
}

func (w *world) someExposure(key types.NamespacedName) *networkingv1alpha1.MultiClusterService {
	s := made.Exposed(key.Namespace, key.Name, networkingv1alpha1.ExposureTypeCrossCluster)
	if w.random.IntN(4) == 0 {
		s.Spec.Types = []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeLoadBalancer}
	} else if w.random.IntN(3) == 0 {
		s.Spec.Range.ClusterNames = w.someClusters()
	}
	if w.random.IntN(3) == 0 {
		for _, id := range w.someClusters() {
			s.Spec.ProviderClusters = append(s.Spec.ProviderClusters, networkingv1alpha1.ClusterSelector{Name: id})
		}
	}
	if w.random.IntN(3) == 0 {
		for range 1 + w.random.IntN(2) {
			p := ports[w.random.IntN(len(ports))]
			some := networkingv1alpha1.ExposurePort{Name: p.Name, Port: p.Port}
			if p.Name != "" && w.random.IntN(2) == 0 {
				some.Port = 0
			}
			s.Spec.Ports = append(s.Spec.Ports, some)
		}
	}
	return s
}

func (w *world) someClusters() (ids []string) {
	for _, c := range w.clusters {
		if w.random.IntN(2) == 0 {
			ids = append(ids, c.id.String())
		}
	}
	return ids
}

// policies computes the policies from the MultiClusterServices, by service.
func (w *world) policies(ctx context.Context) (map[types.NamespacedName]*brokerv1alpha1.ServicePolicySpec, error) {
	found, err := list(ctx, w.admin, &networkingv1alpha1.MultiClusterServiceList{})
	all := map[types.NamespacedName]*brokerv1alpha1.ServicePolicySpec{}
	for _, s := range found.Items {
		policy := &brokerv1alpha1.ServicePolicySpec{ServiceNamespace: s.Namespace, ServiceName: s.Name, Scope: brokerv1alpha1.ScopeHub}
		if s.Spec.Types[0] == networkingv1alpha1.ExposureTypeCrossCluster {
			policy.Scope, policy.Consumers = brokerv1alpha1.ScopeClusterset, s.Spec.Range.ClusterNames
		}
		for _, provider := range s.Spec.ProviderClusters {
			policy.Providers = append(policy.Providers, provider.Name)
		}
		for _, p := range s.Spec.Ports {
			policy.Ports = append(policy.Ports, brokerv1alpha1.PolicyPort{Name: p.Name, Port: p.Port})
		}
		all[keyOf(&s)] = policy
	}
	return all, err
}

// exportsByPolicy reports whether the cluster's agent has to create a ServiceExport.
func (c *cluster) exportsByPolicy(key types.NamespacedName, policy *brokerv1alpha1.ServicePolicySpec) bool {
	return policy != nil && policy.Provides(c.id.String()) && c.users.exports[key] == nil && contribution.Validate(c.users.services[key]).Valid
}

// exposureProblems compares the conditions of MultiClusterServices with the exports.
func (w *world) exposureProblems(ctx context.Context, f *findings, t *truth) error {
	all, err := list(ctx, w.admin, &networkingv1alpha1.MultiClusterServiceList{})
	for _, s := range all.Items {
		exported := false
		for _, c := range s.Status.Conditions {
			if c.Type == networkingv1alpha1.ConditionExported {
				exported = c.Status == "True"
			}
		}
		records := t.records[keyOf(&s)]
		want := len(records) > 0
		for _, p := range s.Spec.ProviderClusters {
			isMember := w.removed == nil || w.removed.id.String() != p.Name
			want = want && (!isMember || slices.ContainsFunc(records, func(r merge.Export) bool { return r.ClusterID == p.Name }))
		}
		if exported != want {
			f.add("MultiClusterService %s: the condition Exported is %v, want %v", keyOf(&s), exported, want)
		}
	}
	return err
}
