// Package imported finds the derived Services and EndpointSlices of an import in this cluster.
package imported

import (
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// Of returns the import of a derived Service, or the zero name for other Services.
func Of(service *corev1.Service) types.NamespacedName {
	if service.Labels[names.LabelManagedBy] == names.AgentManager {
		return types.NamespacedName{Namespace: service.Namespace, Name: service.Labels[names.LabelServiceName]}
	}
	for _, owner := range service.OwnerReferences {
		if owner.Kind == mcsv1beta1.ServiceImportKindName {
			return types.NamespacedName{Namespace: service.Namespace, Name: owner.Name}
		}
	}
	return types.NamespacedName{}
}

// Service returns the derived Service of an import, or nil. If nil, free is the first candidate name that no other
// Service uses, "" if all are taken. Callers must not change the Service.
func Service(ctx context.Context, r client.Reader, imp types.NamespacedName, headless bool) (service *corev1.Service, free string, err error) {
	for _, name := range names.DerivedServices(imp.Name, headless) {
		service := &corev1.Service{}
		err := r.Get(ctx, client.ObjectKey{Namespace: imp.Namespace, Name: name}, service, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			if free == "" {
				free = name
			}
		case err != nil:
			return nil, "", err
		case derived.OwnedBy(service, imp.Name):
			return service, name, nil
		}
	}
	return nil, free, nil
}

// ServiceOf returns the name of an import's derived Service, and its ports: of the one that exists or, until that is created
// again, the name of the previous one. It is "" before the first.
func ServiceOf(ctx context.Context, r client.Reader, imp *mcsv1beta1.ServiceImport) (name string, ports []corev1.ServicePort, err error) {
	headless := imp.Spec.Type == mcsv1beta1.Headless
	service, _, err := Service(ctx, r, client.ObjectKeyFromObject(imp), headless)
	if err != nil || service == nil || derived.MustReplace(service, headless) {
		return imp.Annotations[names.AnnotationDerivedService], nil, err
	}
	return service.Name, service.Spec.Ports, nil
}

// Created returns the import of a derived Service that is new or has new ports, or the zero name for all other events. Slices
// wait for the Service, not for the import's next update, which has the Service's address.
func Created(e kit.Event[*corev1.Service]) types.NamespacedName {
	if e.Initial || e.New == nil || e.Old != nil && Of(e.Old) == Of(e.New) && equality.Semantic.DeepEqual(e.Old.Spec.Ports, e.New.Spec.Ports) {
		return types.NamespacedName{}
	}
	return Of(e.New)
}

// Import returns the ServiceImport of a service, or nil if Atoll does not manage it or it is being deleted.
func Import(ctx context.Context, r client.Reader, service types.NamespacedName) (*mcsv1beta1.ServiceImport, error) {
	imp, err := kit.Get(ctx, r, service, &mcsv1beta1.ServiceImport{}, client.UnsafeDisableDeepCopy)
	if imp == nil || imp.DeletionTimestamp != nil || !ownership.IsManaged(imp) {
		return nil, err
	}
	return imp, nil
}

// Changed reports whether a ServiceImport event affects its slices. Addresses, what was applied,
// the derived Service's name (see Created) and status do not.
func Changed(e kit.Event[*mcsv1beta1.ServiceImport]) bool {
	if e.Old == nil || e.New == nil {
		return true
	}
	before, after := e.Old.Spec.DeepCopy(), &e.New.Spec
	before.IPs = after.IPs
	with := func(imp *mcsv1beta1.ServiceImport) map[string]string {
		annotations := maps.Clone(imp.Annotations)
		delete(annotations, names.AnnotationApplied)
		delete(annotations, names.AnnotationAppliedSpec)
		delete(annotations, names.AnnotationDerivedService)
		return annotations
	}
	return (e.Old.DeletionTimestamp == nil) != (e.New.DeletionTimestamp == nil) || e.Old.UID != e.New.UID ||
		!maps.Equal(e.Old.Labels, e.New.Labels) || !maps.Equal(with(e.Old), with(e.New)) || !equality.Semantic.DeepEqual(before, after)
}

// Slice returns an imported slice by its usual name, or nil. It has an alternative name if a foreign slice has the usual one.
// Callers must not change it.
func Slice(ctx context.Context, r client.Reader, usual types.NamespacedName) (*discoveryv1.EndpointSlice, error) {
	for _, name := range []string{usual.Name, names.OtherImportedSlice(usual.Name)} {
		slice := &discoveryv1.EndpointSlice{}
		err := r.Get(ctx, client.ObjectKey{Namespace: usual.Namespace, Name: name}, slice, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case IsOurs(slice):
			return slice, nil
		}
	}
	return nil, nil
}

// IsOurs reports whether Atoll imported a slice. It also checks the owner, because a user may have removed the label.
func IsOurs(o client.Object) bool {
	manager := o.GetLabels()[discoveryv1.LabelManagedBy]
	return manager == names.AgentManager || manager == "" && slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.Kind == mcsv1beta1.ServiceImportKindName
	})
}

// Write creates, updates or deletes (nil) a slice in this cluster. If a foreign slice has the name, it uses another.
func Write(ctx context.Context, c *inputs.Cluster, have, want *discoveryv1.EndpointSlice) error {
	switch {
	case have == nil && want == nil, endpoints.Same(have, want) && inputs.IsImported(have):
		return nil
	case want == nil, have != nil && have.AddressType != want.AddressType: // the API forbids changing the address type: the deletion's event re-creates the slice
		return kit.Delete(ctx, c.Client, have)
	case have != nil:
		updated := endpoints.Updated(have, want)
		delete(updated.Labels, names.LabelServiceNamespace) // with this label it would be a slice on a broker
		return kit.Update(ctx, c.Client, updated)
	}
	return c.Stages.Do(kit.Usable, func() error {
		err := kit.Create(ctx, c.Client, c.Live, want.DeepCopy(), IsOurs)
		if taken := (*kit.TakenError)(nil); errors.As(err, &taken) {
			want = want.DeepCopy()
			want.Name = names.OtherImportedSlice(want.Name)
			return kit.Create(ctx, c.Client, c.Live, want, IsOurs)
		}
		return err
	})
}

// Source returns the cluster and the source slice of an imported slice.
func Source(slice *discoveryv1.EndpointSlice) (names.ClusterID, types.NamespacedName) {
	return layout.Cluster(slice), types.NamespacedName{Namespace: slice.Namespace, Name: layout.Source(slice)}
}
