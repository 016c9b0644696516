package verify

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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// expected returns the Services with the clusters that have successfully exported them.
func (r *run) expected() []expectation {
	all := []expectation{{service: shared}}
	for _, m := range r.members {
		if m.exported {
			all[0].clusters = append(all[0].clusters, m.ID.String())
			all = append(all, expectation{m.own(), []string{m.ID.String()}})
		}
	}
	return all
}

// export creates and exports a member's Services.
func (r *run) export(ctx context.Context, m *member) error {
	for _, name := range []string{shared, m.own()} {
		if _, err := m.post.Service(ctx, name, true); err != nil {
			return err
		}
		export := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
		if err := m.target.Create(ctx, export); err != nil {
			return fmt.Errorf("creating ServiceExport %s: %w", name, err)
		}
	}
	m.exported = true
	return nil
}

// unexport deletes a member's exports.
func (r *run) unexport(ctx context.Context, m *member) error {
	if !m.exported {
		return errSkipped
	}
	for _, name := range []string{shared, m.own()} {
		export := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
		if err := client.IgnoreNotFound(m.target.Client.Delete(ctx, export)); err != nil {
			return fmt.Errorf("deleting ServiceExport %s: %w", name, err)
		}
	}
	return nil
}

// imported waits until a member has imported every Service, with an endpoint of each cluster.
func (r *run) imported(ctx context.Context, m *member) error {
	for _, e := range r.expected() {
		if err := install.Wait(ctx, r.StepTimeout, func(ctx context.Context) error { return r.complete(ctx, m, e) }); err != nil {
			return fmt.Errorf("the Service %s is not imported: %w%s", e.service, err, m.Explain(ctx, r.key(e.service)))
		}
	}
	return nil
}

// complete returns an error that says what an import lacks.
func (r *run) complete(ctx context.Context, m *member, e expectation) error {
	imported := &mcsv1beta1.ServiceImport{}
	if err := m.target.Get(ctx, r.key(e.service), imported); err != nil {
		return err
	}
	var have discoveryv1.EndpointSliceList
	if err := m.target.List(ctx, &have, client.InNamespace(r.namespace), client.MatchingLabels{
		discoveryv1.LabelManagedBy: names.AgentManager, names.LabelServiceName: e.service,
	}); err != nil {
		return err
	}
	if err := lacks(imported, have.Items, e.clusters); err != nil {
		return err
	}
	m.addresses[e.service] = imported.Spec.IPs
	return nil
}

// lacks returns an error that says what an import from the clusters lacks, or nil if the import is complete.
func lacks(imported *mcsv1beta1.ServiceImport, have []discoveryv1.EndpointSlice, clusters []string) error {
	var missing []string
	for _, id := range clusters {
		listed := slices.ContainsFunc(imported.Status.Clusters, func(c mcsv1beta1.ClusterStatus) bool { return c.Cluster == id })
		if !listed || !endpoint(have, id) {
			missing = append(missing, id)
		}
	}
	ready := meta.FindStatusCondition(imported.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady))
	switch {
	case len(missing) > 0:
		return fmt.Errorf("the import has no ready endpoint of %s", strings.Join(missing, ", "))
	case len(imported.Spec.IPs) == 0:
		return errors.New("the import has no clusterset IP")
	case ready == nil:
		return errors.New("the import has no condition Ready")
	case ready.Status != metav1.ConditionTrue:
		return fmt.Errorf("the import's condition Ready is %s (%s): %s", ready.Status, ready.Reason, ready.Message)
	}
	return nil
}

// endpoint reports whether a cluster has a ready endpoint in the list.
func endpoint(list []discoveryv1.EndpointSlice, cluster string) bool {
	return slices.ContainsFunc(list, func(s discoveryv1.EndpointSlice) bool {
		return s.Labels[names.LabelSourceCluster] == cluster && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return ptr.Deref(e.Conditions.Ready, true)
		})
	})
}

// gone waits until a member has no imports left.
func (r *run) gone(ctx context.Context, m *member) error {
	return install.Wait(ctx, r.StepTimeout, func(ctx context.Context) error {
		for _, e := range r.expected() {
			err := m.target.Get(ctx, r.key(e.service), &mcsv1beta1.ServiceImport{})
			if err == nil {
				return fmt.Errorf("the Service %s is still imported, although no cluster exports it", e.service)
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}
