package derivedservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/status"
)

// create makes the Service with the clusterset IPs that the import has, if it had a
// Service before, so that clients keep theirs: all of them that it can have.
func (c *Controller) create(ctx context.Context, imp *mcsv1beta1.ServiceImport, service *corev1.Service) (*corev1.Service, error) {
	keep := derived.FormerIPs(imp)
	var lost []string
	var refusal error
	for {
		fresh := service.DeepCopy()
		derived.Apply(fresh, imp)
		if len(keep) > 0 {
			derived.KeepIPs(fresh, keep)
		}
		err := c.writer.Create(ctx, fresh)
		if err == nil {
			return c.created(imp, fresh, lost, refusal), nil
		}
		if len(keep) == 0 || !aboutAddresses(err) {
			return nil, fmt.Errorf("creating the derived Service %s/%s: %w", service.Namespace, service.Name, err)
		}
		if there, err := c.isThere(ctx, imp, service); there || err != nil {
			return nil, err
		}
		gone, listErr := c.addressesLost(ctx, imp, keep, err)
		if len(gone) == 0 {
			// Not wrapped: it passes by itself in a moment, and must not look like a refusal that
			// people can do something about.
			return nil, errors.Join(listErr, fmt.Errorf("creating the derived Service %s/%s with the address it had: %v", service.Namespace, service.Name, err))
		}
		keep = slices.DeleteFunc(keep, func(ip string) bool { return slices.Contains(gone, ip) })
		lost, refusal = append(lost, gone...), err
	}
}

// aboutAddresses tells whether the API server refuses a Service because of its addresses.
func aboutAddresses(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec.clusterIP")
}

// created returns a Service that was made, and tells which addresses it could not have again;
// nil where one is there already and is about to be seen.
func (c *Controller) created(imp *mcsv1beta1.ServiceImport, fresh *corev1.Service, lost []string, refusal error) *corev1.Service {
	if fresh.UID == "" {
		return nil
	}
	if len(lost) > 0 {
		status.Say(c.recorder, imp, nil, corev1.EventTypeWarning, "ClusterSetIPLost", "Import", fmt.Sprintf(
			"The derived Service can't have its clusterset IP %s again: %v", strings.Join(lost, " and "), refusal))
	}
	return fresh
}

// isThere tells whether the Service that could not be created has been made already and is
// about to be seen. The API server allocates addresses before it looks at names, so what it
// then says is that the Service's own addresses are taken.
func (c *Controller) isThere(ctx context.Context, imp *mcsv1beta1.ServiceImport, service *corev1.Service) (bool, error) {
	there := &corev1.Service{}
	err := c.writer.Reader.Get(ctx, client.ObjectKeyFromObject(service), there)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("looking whether the derived Service %s/%s is there: %w", service.Namespace, service.Name, err)
	}
	return err == nil && derived.OwnedBy(there, imp.Name), nil
}

// addressesLost returns, after the API server refused to give a Service the addresses
// keep, which an import has, those for which trying again is in vain. Right after a Service's
// deletion its address counts as allocated for a moment still; it is lost only when another
// Service has it, or when it is not a valid one any more.
func (c *Controller) addressesLost(ctx context.Context, imp *mcsv1beta1.ServiceImport, keep []string, refusal error) (lost []string, err error) {
	if !strings.Contains(refusal.Error(), "already allocated") {
		for _, ip := range keep {
			if strings.Contains(refusal.Error(), "failed to allocate IP "+ip+":") { // it names one at a time
				return []string{ip}, nil
			}
		}
		return slices.Clone(keep), nil
	}
	services := &corev1.ServiceList{}
	if err := c.local.List(ctx, services, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for the owner of %v: %w", keep, err)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if s.Namespace == imp.Namespace && derived.OwnedBy(s, imp.Name) {
			continue // one that went or came a moment ago
		}
		for _, ip := range s.Spec.ClusterIPs {
			if slices.Contains(keep, ip) {
				lost = append(lost, ip)
			}
		}
	}
	return lost, nil
}
