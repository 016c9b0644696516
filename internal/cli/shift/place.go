package shift

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// unused are the reasons of endpoints on standby that no weight brings into use.
var unused = []choice.Reason{choice.Silent, choice.Drained}

// place is a cluster in which the shift writes a TrafficPolicy.
type place struct {
	client.Client
	on      command.Cluster
	id      names.ClusterID
	broker  *survey.Broker // nil if it cannot be read
	service types.NamespacedName
	kind    string // of the policy's target

	policy *trafficv1alpha1.TrafficPolicy // the one that applies to the target, or nil
	state  *state                         // of the shift
	isNew  bool                           // the shift begins, so earlier weights are those of now
	// blind is set if the cluster does not know the target's endpoints.
	blind bool
}

// name names the policy that a shift creates.
func (p *place) name() string { return p.service.Name + "-shift" }

func (p *place) hasTarget(policy *trafficv1alpha1.TrafficPolicy) bool {
	return slices.ContainsFunc(policy.Spec.TargetRefs, func(t trafficv1alpha1.LocalPolicyTargetReference) bool {
		return t.Kind == p.kind && t.Name == p.service.Name
	})
}

// policies lists the TrafficPolicies for the target.
func (p *place) policies(ctx context.Context) (all []*trafficv1alpha1.TrafficPolicy, _ error) {
	found := &trafficv1alpha1.TrafficPolicyList{}
	if err := p.List(ctx, found, client.InNamespace(p.service.Namespace)); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("cluster %s has no CustomResourceDefinition for TrafficPolicies: upgrade Atoll there", p.id)
		}
		return nil, fmt.Errorf("listing TrafficPolicies in cluster %s: %w", p.id, err)
	}
	for i := range found.Items {
		if p.hasTarget(&found.Items[i]) {
			all = append(all, &found.Items[i])
		}
	}
	return all, nil
}

// exports are the broker's records of the service.
func (p *place) exports() (all []merge.Export) {
	if p.broker == nil {
		return nil
	}
	for _, e := range p.broker.Exports {
		if e.Spec.Service() == p.service {
			all = append(all, e.Spec)
		}
	}
	return all
}

// kindOfService is what decides whether weights apply to the service, and the clusters that export it.
type kindOfService struct {
	headless, trafficDistribution bool
	exporters                     []string
}

// read reads the service: its ServiceImport, or its records with --exports.
func (p *place) read(ctx context.Context) (kindOfService, error) {
	if p.kind == mcsv1beta1.ServiceExportKindName {
		return p.readExports()
	}
	imp := &mcsv1beta1.ServiceImport{}
	if err := p.Get(ctx, p.service, imp); err != nil {
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return kindOfService{}, fmt.Errorf("cluster %s does not import service %s", p.id, p.service)
		}
		return kindOfService{}, fmt.Errorf("reading ServiceImport %s in cluster %s: %w", p.service, p.id, err)
	}
	if !ownership.IsManaged(imp) {
		return kindOfService{}, fmt.Errorf("the ServiceImport %s in cluster %s is not managed by Atoll, so TrafficPolicies have no effect on it", p.service, p.id)
	}
	k := kindOfService{headless: imp.Spec.Type == mcsv1beta1.Headless, trafficDistribution: imp.Spec.TrafficDistribution != nil}
	for _, c := range imp.Status.Clusters {
		k.exporters = append(k.exporters, c.Cluster)
	}
	return k, nil
}

// readExports also refuses a cluster whose export is not the oldest: importers do not use its policy.
func (p *place) readExports() (k kindOfService, _ error) {
	if p.broker == nil {
		return k, errors.New("the command cannot read the broker, so it cannot tell which export is the oldest: repeat the command when the broker is back")
	}
	exports := p.exports()
	if len(exports) == 0 {
		return k, fmt.Errorf("no cluster exports service %s", p.service)
	}
	oldest := choice.OldestExport(exports)
	if oldest.ClusterID != p.id.String() {
		return k, fmt.Errorf("the policy of the oldest export applies, and the oldest export is in cluster %s, not in cluster %s: use a context of cluster %[1]s", oldest.ClusterID, p.id)
	}
	for _, e := range exports {
		k.exporters = append(k.exporters, e.ClusterID)
		k.headless = k.headless || e.Type == mcsv1beta1.Headless
		k.trafficDistribution = k.trafficDistribution || e.TrafficDistribution != nil
	}
	return k, nil
}

// publishesClusterIPs reports whether an exporting cluster advertises its cluster IPs. It is false if the broker cannot be read:
// then the status of the policy says so.
func (p *place) publishesClusterIPs(exporters []string) bool {
	return p.broker != nil && slices.ContainsFunc(p.broker.Members, func(m brokerv1alpha1.MemberCluster) bool {
		isOwn := m.Spec.ClusterID == p.id.String() && p.kind == mcsv1beta1.ServiceImportKindName // the cluster knows its own pods
		return m.Spec.AdvertiseMode == brokerv1alpha1.AdvertiseClusterIP && !isOwn && slices.Contains(exporters, m.Spec.ClusterID)
	})
}

// count returns the number of endpoints of each cluster that get connections, and of those that are ready in their cluster: they
// get connections, or are on standby and neither drained nor silent.
func (p *place) count(ctx context.Context) (active, usable map[string]int, _ error) {
	found := &discoveryv1.EndpointSliceList{}
	if err := p.List(ctx, found, client.InNamespace(p.service.Namespace), client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager, names.LabelServiceName: p.service.Name}); err != nil {
		return nil, nil, fmt.Errorf("listing the EndpointSlices of service %s in cluster %s: %w", p.service, p.id, err)
	}
	var all survey.Survey
	for _, slice := range found.Items {
		if slice.Labels[names.LabelServiceNamespace] == "" { // a cluster that is also a broker has the slices that members publish
			all.Cluster.Slices = append(all.Cluster.Slices, slice)
		}
	}
	type endpoint struct{ cluster, address string }
	isActive, isUsable := map[endpoint]bool{}, map[endpoint]bool{}
	for _, e := range report.Endpoints(&all) {
		if len(e.Addresses) == 0 {
			continue
		}
		one := endpoint{e.Cluster, e.Addresses[0]}
		switch {
		case e.State == report.EndpointReady:
			isActive[one], isUsable[one] = true, true
		case e.State == report.EndpointStandby && !slices.ContainsFunc(unused, func(r choice.Reason) bool { return strings.Contains(e.Reason, string(r)) }):
			isUsable[one] = true
		}
	}
	active, usable = map[string]int{}, map[string]int{}
	for one := range isActive {
		active[one.cluster]++
	}
	for one := range isUsable {
		usable[one.cluster]++
	}
	return active, usable, nil
}

// write creates or updates the policy with the weights of a step.
func (p *place) write(ctx context.Context, percent int) error {
	isNew := p.isNew
	p.isNew = false
	if p.policy != nil {
		return p.change(ctx, func(policy *trafficv1alpha1.TrafficPolicy) {
			if isNew {
				delete(policy.Annotations, names.AnnotationShiftEarlier)
			}
			record(policy, p.state, percent)
		})
	}
	p.policy = &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: p.service.Namespace, Name: p.name()}}
	p.policy.Spec.TargetRefs = []trafficv1alpha1.LocalPolicyTargetReference{{Group: mcsv1beta1.GroupName, Kind: p.kind, Name: p.service.Name}}
	record(p.policy, p.state, percent)
	return p.wrap("creating", p.Create(ctx, p.policy, client.FieldOwner("atoll")))
}

// finish records that a step is complete.
func (p *place) finish(ctx context.Context, done int) error {
	p.state.Done = done
	return p.change(ctx, func(policy *trafficv1alpha1.TrafficPolicy) {
		policy.Annotations[names.AnnotationShift] = text(p.state)
	})
}

// change changes the policy, unless somebody else has changed its spec since it was read. The agent may write its status.
func (p *place) change(ctx context.Context, change func(*trafficv1alpha1.TrafficPolicy)) error {
	return p.wrap("changing", retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now := &trafficv1alpha1.TrafficPolicy{}
		if err := p.Get(ctx, client.ObjectKeyFromObject(p.policy), now); err != nil {
			return err
		}
		if now.UID != p.policy.UID || text(now.Spec) != text(p.policy.Spec) {
			return errors.New("somebody else has changed its spec")
		}
		updated := now.DeepCopy()
		change(updated)
		patch := client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{})
		err := p.Patch(ctx, updated, patch, client.FieldOwner("atoll"))
		if err == nil {
			p.policy = updated
		}
		return err
	}))
}

func (p *place) wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s TrafficPolicy %s/%s in cluster %s: %w", what, p.policy.Namespace, p.policy.Name, p.id, err)
	}
	return nil
}

// refresh reads the policy that applies again.
func (p *place) refresh(ctx context.Context) error {
	all, err := p.policies(ctx)
	if err != nil {
		return err
	}
	p.policy = choice.Oldest(all)
	return nil
}
