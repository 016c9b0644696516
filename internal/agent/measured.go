package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func remotes(heartbeats *lost.Heartbeats, withdrawn *lost.Set, over []string) map[string]metrics.Remote {
	all := map[string]metrics.Remote{}
	for id, renewed := range heartbeats.Renewals() {
		all[id.String()] = metrics.Remote{
			Ready: heartbeats.Live(id) && !withdrawn.Has(id), Silent: withdrawn.Silent(id), OverBudget: slices.Contains(over, id.String()), Renewed: renewed,
		}
	}
	return all
}

// conflictReasons are the possible reasons of the Conflict condition.
var conflictReasons = []string{
	string(mcsv1beta1.ServiceExportReasonPortConflict), string(mcsv1beta1.ServiceExportReasonTypeConflict),
	string(mcsv1beta1.ServiceExportReasonSessionAffinityConflict), string(mcsv1beta1.ServiceExportReasonSessionAffinityConfigConflict),
	string(mcsv1beta1.ServiceExportReasonLabelsConflict), string(mcsv1beta1.ServiceExportReasonAnnotationsConflict),
	string(mcsv1beta1.ServiceExportReasonInternalTrafficPolicyConflict), string(mcsv1beta1.ServiceExportReasonTrafficDistributionConflict), merge.ReasonClusterSelectorsConflict,
	string(mcsv1beta1.ServiceExportReasonIPFamilyConflict),
}

// collectTimeout is how long a metrics request waits for a cache that is not synced.
const collectTimeout = time.Second

// drains returns the drains of this cluster, by the broker and by annotations.
func drains(ctx context.Context, c client.Reader, byBroker bool) (all []metrics.Drain, _ error) {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	add := func(scope string, o metav1.Object, namespace, service string) {
		if end, found := drain.End(o); found {
			all = append(all, metrics.Drain{Scope: scope, Namespace: namespace, Service: service, End: end})
		}
	}
	if byBroker {
		all = append(all, metrics.Drain{Scope: "broker"})
	}
	var namespaces corev1.NamespaceList
	if err := c.List(ctx, &namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range namespaces.Items {
		if ns := &namespaces.Items[i]; ns.Name == names.SystemNamespace {
			add("cluster", ns, "", "")
		} else {
			add("namespace", ns, ns.Name, "")
		}
	}
	var exports mcsv1beta1.ServiceExportList
	if err := c.List(ctx, &exports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ServiceExports: %w", err)
	}
	for i := range exports.Items {
		add("service", &exports.Items[i], exports.Items[i].Namespace, exports.Items[i].Name)
	}
	return all, nil
}

func measuredObjects(ctx context.Context, c client.Reader) (exports []metrics.Export, imports []metrics.Import, err error) {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	var allExports mcsv1beta1.ServiceExportList
	if err := c.List(ctx, &allExports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing ServiceExports: %w", err)
	}
	for i := range allExports.Items {
		e := &allExports.Items[i]
		export := metrics.Export{Namespace: e.Namespace, Name: e.Name}
		for _, condition := range e.Status.Conditions {
			export.Conditions = append(export.Conditions, metrics.Condition{Type: condition.Type, Status: string(condition.Status), Reason: condition.Reason})
		}
		exports = append(exports, export)
	}
	var allImports mcsv1beta1.ServiceImportList
	if err := c.List(ctx, &allImports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing ServiceImports: %w", err)
	}
	for i := range allImports.Items {
		s := &allImports.Items[i]
		imports = append(imports, metrics.Import{Namespace: s.Namespace, Name: s.Name, Clusters: len(s.Status.Clusters)})
	}
	return exports, imports, nil
}
