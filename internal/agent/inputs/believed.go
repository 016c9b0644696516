package inputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Follow has the view begin with what this cluster has applied, and follow a connection until ctx is done. It returns when
// everything is known.
func (c *Cluster) Follow(ctx context.Context, from view.Connection) error {
	if !c.View.Known() { // it is the first connection
		if err := errors.Join(c.remembered(ctx), c.applied(ctx)); err != nil {
			return err
		}
	}
	return c.View.Follow(ctx, from)
}

// applied records the policies that this cluster's ServiceExports were created for, the records that its ServiceImports
// were merged from, and the slices that it has imported.
func (c *Cluster) applied(ctx context.Context) error {
	exports, imports := &mcsv1beta1.ServiceExportList{}, &mcsv1beta1.ServiceImportList{}
	if err := c.Client.List(ctx, exports, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the ServiceExports: %w", err)
	}
	if err := c.Client.List(ctx, imports, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the ServiceImports: %w", err)
	}
	slices, err := c.AllImported(ctx)
	if err != nil {
		return fmt.Errorf("listing the imported EndpointSlices: %w", err)
	}
	for i := range exports.Items {
		if policy := exportedBecauseOf(&exports.Items[i]); policy != nil {
			c.View.AppliedPolicy(policy)
		}
	}
	for i := range imports.Items {
		for id, revision := range layout.Applied(&imports.Items[i]) {
			c.View.AppliedRecord(client.ObjectKeyFromObject(&imports.Items[i]), id, revision)
		}
	}
	for _, s := range slices {
		if of := (kit.Scope{Member: layout.Cluster(s), Slice: types.NamespacedName{Namespace: s.Namespace, Name: layout.Source(s)}}); of.Member != c.ID {
			c.View.AppliedSlice(of, ImportService(s), layout.Revision(s))
		}
	}
	return nil
}

// Policy returns the hub's believed policy of a service, or nil.
func (c *Cluster) Policy(service types.NamespacedName) *brokerv1alpha1.ServicePolicySpec {
	if policy, _ := c.View.Policy(service); policy != nil {
		return &policy.Spec
	}
	return nil
}

// exportedBecauseOf returns the policy that a ServiceExport records as its reason, or nil. An agent that
// starts while the broker has lost the policy must still restrict what the policy restricts.
func exportedBecauseOf(export *mcsv1beta1.ServiceExport) *brokerv1alpha1.ServicePolicy {
	if !contribution.ByPolicy(export) {
		return nil
	}
	policy := &brokerv1alpha1.ServicePolicy{}
	if json.Unmarshal([]byte(export.Annotations[names.AnnotationPolicy]), &policy.Spec) != nil {
		return nil // a user has changed it
	}
	policy.Annotations = map[string]string{names.AnnotationRevision: export.Annotations[names.AnnotationRevision]}
	return policy
}

// Because returns the annotations by which a ServiceExport records the policy that it was made for.
func (c *Cluster) Because(service types.NamespacedName) map[string]string {
	policy, _ := c.View.Policy(service)
	if policy == nil {
		return nil
	}
	text, _ := json.Marshal(policy.Spec) // cannot fail: it consists of strings
	return map[string]string{names.AnnotationPolicy: string(text), names.AnnotationRevision: policy.Annotations[names.AnnotationRevision]}
}
