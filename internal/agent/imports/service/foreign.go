package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// replacePause is the least time between two deletions of a derived Service because of its endpoints: a person or a tool that
// repeats an edit must not keep the Service away.
const replacePause = 5 * time.Minute

// slice maps an imported slice with new ports, and a slice of a derived Service that Atoll has not imported, to the import.
func (r *Reconciler) slice(ctx context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
	if s := e.Latest(); inputs.IsImported(s) {
		appears := e.Old == nil || e.New == nil || !inputs.IsImported(e.Old)
		if appears && layout.HasImportedName(s) || !appears && equality.Semantic.DeepEqual(e.Old.Ports, e.New.Ports) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: inputs.ImportService(s)}}
	}
	if e.Old != nil && e.New != nil && inputs.SourceService(e.Old) == inputs.SourceService(e.New) {
		return nil // its endpoints do not matter
	}
	return r.derivedFrom(ctx, e.Versions())
}

// derivedFrom returns the imports whose derived Services have these slices.
func (r *Reconciler) derivedFrom(ctx context.Context, slices []*discoveryv1.EndpointSlice) (all []reconcile.Request) {
	for _, s := range slices {
		name := inputs.SourceService(s)
		if name.Name == "" {
			continue
		}
		service, err := kit.Get(ctx, r.cluster.Client, name, &corev1.Service{}, client.UnsafeDisableDeepCopy)
		if err != nil || service == nil {
			continue // the Service's own event follows
		}
		if imp := imported.Of(service); imp.Name != "" {
			all = append(all, reconcile.Request{NamespacedName: imp})
		}
	}
	return all
}

// foreign returns the slices that kube-proxy uses for a derived Service and that Atoll has not imported.
func (r *Reconciler) foreign(ctx context.Context, service *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	all, err := r.cluster.Sources(ctx, client.ObjectKeyFromObject(service))
	if err != nil {
		return nil, fmt.Errorf("listing the EndpointSlices of Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	all = slices.DeleteFunc(all, func(s *discoveryv1.EndpointSlice) bool {
		return imported.IsOurs(s) || isLeftBehind(s, service.UID)
	})
	ours, err := r.cluster.Imported(ctx, imported.Of(service))
	if err != nil {
		return nil, fmt.Errorf("listing the imported EndpointSlices of Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	for _, s := range ours {
		if !layout.HasImportedName(s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// isLeftBehind reports whether a slice belongs to a former Service of the same name. The garbage collector deletes it.
func isLeftBehind(s *discoveryv1.EndpointSlice, service types.UID) bool {
	for _, owner := range s.OwnerReferences {
		if owner.Kind == "Service" {
			return owner.UID != service
		}
	}
	return false
}

// isMadeByKubernetes reports whether a controller of Kubernetes has made a slice: from a selector, or from an Endpoints object.
// Both stay when the selector is removed, and go with the Service.
func isMadeByKubernetes(s *discoveryv1.EndpointSlice) bool {
	manager := s.Labels[discoveryv1.LabelManagedBy]
	return manager == "endpointslice-controller.k8s.io" || manager == "endpointslicemirroring-controller.k8s.io"
}

// foreignEndpoints warns about slices that are not Atoll's.
func foreignEndpoints(foreign []*discoveryv1.EndpointSlice) status.Warning {
	var all []string
	for _, s := range foreign {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	const most = 4 // an Event's note has 1024 bytes
	shown := all[:min(len(all), most)]
	text := strings.Join(shown, ", ")
	if more := len(all) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return status.Warning{Reason: "ForeignEndpoints", Message: fmt.Sprintf(
		"Another tool or person created EndpointSlices for the derived Service: %s. Clients also reach the endpoints in these EndpointSlices. If that is not intended, delete the EndpointSlices: %s",
		text, command.Here.Kubectl("delete endpointslice -n %s %s", foreign[0].Namespace, strings.Join(shown, " ")))}
}
