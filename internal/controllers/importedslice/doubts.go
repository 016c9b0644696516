package importedslice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// What is missing on the broker may be there all the same (docs/adr/0031-epochs.md). Until that is known, what was
// imported stays; what other clusters add and change is imported.

// doubted tells whether there are doubts about what is missing of a part. The cluster's own is never missing, and
// a lost cluster's endpoints go in any case.
func (c *Controller) doubted(req Request, gone bool) bool {
	return !gone && req.Cluster != c.broker.Self && !c.options.Withdrawn.Has(req.Cluster.String()) && c.broker.Doubts(req.Cluster, req.Service.Namespace)
}

// held tells whether a part stays as it is, because the record of its export is missing on the broker, and may
// be there all the same, or what there is may be an earlier state. A part of which nothing is imported yet is not held.
func (c *Controller) held(ctx context.Context, req Request, gone bool) (bool, error) {
	if !c.doubted(req, gone) {
		return false, nil
	}
	imported, err := local.ImportedSlices(ctx, c.local, req.Service, req.Cluster)
	if err != nil {
		return false, fmt.Errorf("listing imported slices of %s: %w", req, err)
	}
	if len(imported) == 0 || !c.broker.Hold(req.Service, req.Cluster) {
		return false, nil
	}
	c.seen.Move(req, req.whole())
	return true, c.confineHeld(ctx, req, imported)
}

// keep leaves slices where they are of which the broker has none any more, as long as these may be there all the
// same, and tells whether it has.
func (c *Controller) keep(req Request, gone bool, changes *sliceplan.Changes) bool {
	if len(changes.Delete) == 0 || !c.doubted(req, gone) {
		return false
	}
	sources := c.othersSources(req)
	there := func(s *discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(sources, func(source *discoveryv1.EndpointSlice) bool { return sameOrigin(s, source) })
	}
	going := slices.DeleteFunc(slices.Clone(changes.Delete), func(s *discoveryv1.EndpointSlice) bool { return !there(s) })
	if len(going) == len(changes.Delete) || !c.broker.Epoch.Hold(req.Service, req.Cluster, req, func() { c.queue(req, false) }) {
		return false
	}
	staying := slices.DeleteFunc(changes.Delete, there)
	changes.Delete = going
	changes.Update = append(changes.Update, c.confined(req.Part, staying)...)
	slices.SortFunc(changes.Update, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	return true
}

// confined returns those of the slices that stay, although the broker does not have them, which have to lose
// addresses: those that the broker's owner does not allow their cluster. Otherwise a member would get round
// that by taking away what it has published in a way that others doubt.
func (c *Controller) confined(part local.Part, staying []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	var confined []*discoveryv1.EndpointSlice
	for _, s := range staying {
		if clean, refused := c.options.Network.Slice(part.Cluster, s); len(refused) > 0 {
			confined = append(confined, clean)
		}
	}
	return confined
}

// confineHeld does so for a part that stays as it is otherwise.
func (c *Controller) confineHeld(ctx context.Context, req Request, imported []*discoveryv1.EndpointSlice) error {
	changes := sliceplan.Changes{Update: c.confined(req.Part, imported)}
	switch {
	case changes.Empty():
		return nil
	case req.Slice != "":
		c.whole(req)
		return nil
	}
	c.turns.Writing(req.Part, changes, time.Now())
	if err := c.writer.Slices(ctx, changes); err != nil {
		return fmt.Errorf("taking endpoints out of %s that are not allowed: %w", req, err)
	}
	return nil
}

// sameOrigin tells whether two slices were made of the same one.
func sameOrigin(a, b *discoveryv1.EndpointSlice) bool {
	for _, of := range []string{names.AnnotationSourceSlice, names.AnnotationSourcePart} {
		if a.Annotations[of] != b.Annotations[of] {
			return false
		}
	}
	return true
}
