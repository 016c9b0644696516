package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
)

// create creates a derived Service with as many of the import's clusterset IPs as possible.
func (r *Reconciler) create(ctx context.Context, imp *mcsv1beta1.ServiceImport, name string) error {
	keep := derived.FormerIPs(imp)
	if had, found := r.addresses.Load(client.ObjectKeyFromObject(imp)); found && imp.Spec.Type != mcsv1beta1.Headless {
		keep = slices.Clone(had.([]string)) // the import has those of its families only, and people can edit it
	}
	if len(keep) > 0 { // it had a Service: the garbage collector may have deleted that before the cache shows the import's own end
		now, err := kit.Get(ctx, r.cluster.Live, client.ObjectKeyFromObject(imp), &mcsv1beta1.ServiceImport{})
		if err != nil || now == nil || now.UID != imp.UID || now.DeletionTimestamp != nil {
			return err
		}
	}
	allowed, err := r.cluster.ServiceMetadataIn(ctx, imp.Namespace)
	if err != nil {
		return err
	}
	var lost []string
	var refusal error
	for {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: imp.Namespace, Name: name}}
		service.Spec.IPFamilies = derived.FamiliesOf(keep)
		derived.Apply(service, imp, allowed)
		if len(keep) > 0 {
			derived.KeepIPs(service, keep)
		}
		err := kit.Create(ctx, r.cluster.Client, r.cluster.Live, service, func(o client.Object) bool { return derived.OwnedBy(o.(*corev1.Service), imp.Name) })
		if err == nil {
			r.addresses.Delete(client.ObjectKeyFromObject(imp))
			r.sayTaken(imp, name)
			r.sayLost(imp, lost, refusal)
			return nil
		}
		if len(keep) == 0 || !kit.RefusesField(err, "spec.clusterIP") {
			return err
		}
		// The API server allocates addresses before it checks names. An uncached Service of ours may hold them.
		gone, lookErr := r.lostIPs(ctx, imp, keep, err)
		if lookErr != nil {
			return lookErr
		}
		keep = slices.DeleteFunc(keep, func(ip string) bool { return slices.Contains(gone, ip) })
		lost, refusal = append(lost, gone...), err
	}
}

// lostIPs returns the addresses of an import that the API server no longer gives to its Service, because another
// Service has them or they are invalid. A deleted Service's address stays allocated for a moment: that is an error to
// retry, not a refusal.
func (r *Reconciler) lostIPs(ctx context.Context, imp *mcsv1beta1.ServiceImport, keep []string, refusal error) (lost []string, _ error) {
	switch ip, isTaken := kit.RefusedAddress(refusal, keep); {
	case isTaken: // the Service that has it shows which
	case ip != "":
		return []string{ip}, nil
	default:
		return slices.Clone(keep), nil
	}
	services := &corev1.ServiceList{}
	if err := r.cluster.Client.List(ctx, services, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for the Service that uses the addresses %v: %w", keep, err)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if s.Namespace == imp.Namespace && derived.OwnedBy(s, imp.Name) {
			continue // a Service that was deleted or created a moment ago
		}
		for _, ip := range s.Spec.ClusterIPs {
			if slices.Contains(keep, ip) {
				lost = append(lost, ip)
			}
		}
	}
	if len(lost) == 0 {
		return nil, fmt.Errorf("creating the derived Service with its previous addresses %v: %v", keep, refusal)
	}
	return lost, nil
}

// sayLost reports the addresses that a Service has lost.
func (r *Reconciler) sayLost(imp *mcsv1beta1.ServiceImport, lost []string, refusal error) {
	if len(lost) > 0 {
		status.Say(r.recorder, imp, nil, corev1.EventTypeWarning, "ClusterSetIPLost", "Import", fmt.Sprintf(
			"The derived Service cannot reuse its previous clusterset IP %s: %v", strings.Join(lost, " and "), refusal))
	}
}

// withDistribution writes a derived Service with the import's traffic distribution, or with PreferClose and a warning
// if this cluster's API server does not know the value.
func (r *Reconciler) withDistribution(imp *mcsv1beta1.ServiceImport, write func(*mcsv1beta1.ServiceImport) error) (warnings []status.Warning, _ error) {
	older := derived.WithOlderDistribution(imp)
	if older == nil {
		return nil, write(imp)
	}
	if _, refused := r.refused.Load(*imp.Spec.TrafficDistribution); !refused {
		err := write(imp)
		if !kit.RefusesField(err, "spec.trafficDistribution") {
			return nil, err
		}
		r.refused.Store(*imp.Spec.TrafficDistribution, true)
	}
	return []status.Warning{{Reason: "TrafficDistributionNotSupported", Message: fmt.Sprintf(
		"This cluster's API server does not support the traffic distribution %s, which requires Kubernetes 1.34 or later. The derived Service uses PreferClose instead.",
		*imp.Spec.TrafficDistribution)}}, write(older)
}
