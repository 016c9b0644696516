package importedslice

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
	"github.com/atoll-mcs/atoll/internal/status"
)

// admit takes out of an importation what means something else in this cluster: the
// cluster IPs of a source whose ranges overlap own ones. It returns false where it is not
// known yet what these are; the part is queued when it is.
func (c *Controller) admit(req local.Part, importation *sliceplan.Importation) (known bool) {
	if !slices.ContainsFunc(importation.Sources, sliceplan.ByClusterIP) {
		c.refusals.Forget(req)
		return true
	}
	if !c.broker.MembersSynced() {
		return false
	}
	reason := c.options.Network.Refusal(c.broker.Self, req.Cluster, c.broker.Member(req.Cluster), importation.Sources)
	if reason == "" {
		c.refusals.Forget(req)
		return true
	}
	if c.refusals.News(req, refusal{importation.Import.UID, reason}) {
		status.Say(c.recorder, importation.Import, c.broker.Reference(req.Cluster), corev1.EventTypeWarning, "OverlappingRanges", "Import", reason)
	}
	importation.Sources = slices.DeleteFunc(slices.Clone(importation.Sources), sliceplan.ByClusterIP)
	return true
}

// leaveOut takes addresses out of an importation that can't be another cluster's, and says so on
// the import. What one slice has left out is news where nothing was said of the part.
func (c *Controller) leaveOut(req Request, importation *sliceplan.Importation) {
	admitted, reason := c.options.Network.Admit(req.Cluster, importation.Sources)
	c.strange.note(req, importation.Sources, admitted)
	importation.Sources = admitted
	switch {
	case reason == "" && req.Slice == "":
		c.leftOut.Forget(req.Part)
	case reason == "" || req.Slice != "" && c.leftOut.Has(req.Part):
	case c.leftOut.News(req.Part, refusal{importation.Import.UID, reason}):
		status.Say(c.recorder, importation.Import, c.broker.Reference(req.Cluster), corev1.EventTypeWarning, "EndpointsRefused", "Import", reason)
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

// partsAt returns the parts of other clusters that have endpoints at one of these addresses, and those
// of which endpoints are left out, for it may be for an address that is not what it was.
func (c *Controller) partsAt(ctx context.Context, addresses []netip.Addr) ([]Request, error) {
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
				return err == nil && slices.Contains(addresses, a)
			})
		}) {
			parts = append(parts, req)
		}
	}
	for _, part := range c.leftOut.All() {
		parts = append(parts, Request{Part: part})
	}
	return parts, nil
}

// refusals are what is refused of parts and was said.
type refusals = controllers.Said[local.Part, refusal]

type refusal struct {
	imp    types.UID // of the ServiceImport on which it was said
	reason string
}
