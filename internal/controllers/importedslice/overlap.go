package importedslice

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// admit takes out of an importation what means something else in this cluster: the
// cluster IPs of a source whose ranges overlap own ones. It returns false where it is not
// known yet what these are; the part is queued when it is.
func (c *Controller) admit(part local.Part, importation *sliceplan.Importation) (known bool) {
	if !slices.ContainsFunc(importation.Sources, sliceplan.ByClusterIP) {
		c.remarks.clear(part, reasonOverlappingRanges)
		return true
	}
	if !c.broker.MembersSynced() {
		return false
	}
	text := sliceplan.OverlappingRanges(c.options.Network, c.broker.Self, part.Cluster, c.broker.Member(part.Cluster), importation.Sources)
	if text == "" {
		c.remarks.clear(part, reasonOverlappingRanges)
		return true
	}
	c.report(part, importation.Import, reasonOverlappingRanges, text, true)
	importation.Sources = slices.DeleteFunc(slices.Clone(importation.Sources), sliceplan.ByClusterIP)
	return true
}

// reportRecord says on the import what of another cluster's record is left out.
func (c *Controller) reportRecord(part local.Part, imp *mcsv1beta1.ServiceImport, export *brokerv1alpha1.ExportedService) {
	if export != nil {
		if count, summary := validation.RefusedOf(export); count > 0 {
			c.report(part, imp, reasonRecordInvalid, fmt.Sprintf("Parts of the export of cluster %q are invalid and do not count here: %s. Correct them in that cluster.",
				part.Cluster, summary), true)
			return
		}
	}
	c.remarks.clear(part, reasonRecordInvalid)
}

// refuseEndpoints takes endpoints out of an importation that this cluster refuses, and says on the import what was left out, now and
// when the slices were read from the broker.
func (c *Controller) refuseEndpoints(req Request, importation *sliceplan.Importation) {
	found := map[string]refusal{}
	admitted := make([]*discoveryv1.EndpointSlice, 0, len(importation.Sources))
	for _, source := range importation.Sources {
		clean, now := c.options.Network.Slice(req.Cluster, source)
		admitted = append(admitted, clean)
		before, first := validation.RefusedOf(source)
		if before+len(now) == 0 {
			continue
		}
		of := refusalOf(before, first, now)
		name := source.Annotations[names.AnnotationSourceSlice]
		if others, has := found[name]; has { // parts of one source slice
			of = refusal{others.count + of.count, others.first}
		}
		found[name] = of
	}
	importation.Sources = admitted
	c.refusals.replace(req.Part, req.Slice, found)
	if text := c.refusals.text(req.Part); text != "" {
		c.report(req.Part, importation.Import, reasonEndpointsRefused, text, req.Slice == "")
	} else {
		c.remarks.clear(req.Part, reasonEndpointsRefused)
	}
}

// partsByClusterIP returns the parts of other clusters that hold cluster IPs: those of
// one cluster, or of all for "".
func (c *Controller) partsByClusterIP(ctx context.Context, of names.ClusterID) ([]Request, error) {
	all, err := c.allParts(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r Request) bool {
		return r.Cluster == c.broker.Self || of != "" && r.Cluster != of ||
			!slices.ContainsFunc(c.broker.Slices(r.Service, r.Cluster), sliceplan.ByClusterIP)
	}), nil
}

// partsAt returns the parts of other clusters that have endpoints in one of these ranges, and those
// of which endpoints are left out, for it may be for an address that is not what it was.
func (c *Controller) partsAt(ctx context.Context, added []netip.Prefix) ([]Request, error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := c.local.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var parts []Request
	for i := range list.Items {
		s := &list.Items[i]
		if req := partOf(s); req.Cluster != c.broker.Self && !slices.Contains(parts, req) && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return slices.ContainsFunc(e.Addresses, func(text string) bool {
				a, err := netip.ParseAddr(text)
				return err == nil && slices.ContainsFunc(added, func(p netip.Prefix) bool { return p.Contains(a) })
			})
		}) {
			parts = append(parts, req)
		}
	}
	for _, part := range c.remarks.parts(reasonEndpointsRefused) {
		parts = append(parts, Request{Part: part})
	}
	return parts, nil
}
