package broker

import (
	"context"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// shown tells of which members a view shows all that there is on the broker. Where there is no time for all of them, it is some:
// those are not asked about the next time.
func (e *Epoch) shown(ctx context.Context, view *View, members []string) (map[string]bool, error) {
	shown := map[string]bool{}
	for _, id := range members {
		behind, err := e.behind(ctx, view, id)
		if err != nil && len(shown) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		shown[id] = !behind
	}
	return shown, nil
}

// behind tells whether a view does not show something that a member has on the broker.
func (e *Epoch) behind(ctx context.Context, view *View, id string) (bool, error) {
	if view == nil {
		return true, nil // none has been made yet
	}
	opts := []client.ListOption{client.InNamespace(e.namespace), client.MatchingLabels{names.LabelSourceCluster: id}}
	for _, of := range []struct {
		list *metav1.PartialObjectMetadataList
		have func(metav1.PartialObjectMetadata) (version string, followed bool)
	}{
		{listOf(brokerv1alpha1.GroupVersion.String(), "ExportedServiceList"), view.exportVersion},
		{listOf(discoveryv1.SchemeGroupVersion.String(), "EndpointSliceList"), view.sliceVersion},
	} {
		if err := e.client.List(ctx, of.list, opts...); err != nil {
			return false, fmt.Errorf("listing what member %s has published: %w", id, err)
		}
		for _, there := range of.list.Items {
			version, followed := of.have(there)
			if followed && !Withdrawn(&there) && less(version, there.ResourceVersion) {
				return true, nil
			}
		}
	}
	return false, nil
}

func listOf(apiVersion, kind string) *metav1.PartialObjectMetadataList {
	return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
}

// exportVersion is the version of a record in the view, "" where it is not there.
func (v *View) exportVersion(there metav1.PartialObjectMetadata) (version string, followed bool) {
	object, exists, err := v.exports.GetStore().GetByKey(there.Namespace + "/" + there.Name)
	if err != nil || !exists { // there is no error to return
		return "", true
	}
	return object.(client.Object).GetResourceVersion(), true
}

// sliceVersion is the version of a slice in the view, "" where it is not there, and whether it
// is one that is followed.
func (v *View) sliceVersion(there metav1.PartialObjectMetadata) (version string, followed bool) {
	namespace := there.Labels[names.LabelServiceNamespace]
	if there.Labels[names.LabelSourceCluster] == v.Self.String() || !v.slices.Follows(namespace) {
		return "", false // the own are seen by who waits for them
	}
	slice := v.slices.ByKey(namespace, types.NamespacedName{Namespace: there.Namespace, Name: there.Name})
	if slice == nil {
		return "", true
	}
	return slice.ResourceVersion, true
}

// firstCompare and lastCompare bound how long to wait before comparing a copy again.
const (
	firstCompare = 20 * time.Millisecond
	lastCompare  = 5 * time.Second
)

// AwaitOwn returns when the view has shown all that there is of this member's on the broker, after it was called,
// and from what version on; or with ctx's error. A watch may have been deaf, so that this is not known before.
func (v *View) AwaitOwn(ctx context.Context) (version string, err error) {
	var equal ownShown
	for pause := firstCompare; ; pause = min(2*pause, lastCompare) {
		at, done, err := equal.compare(ctx, v)
		switch {
		case err != nil && ctx.Err() == nil:
			v.Epoch.log.Debug("comparing what this cluster has published failed, will try again", "error", err)
		case version == "":
			version = at
		}
		if done {
			return version, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", ctx.Err()
		case <-timer.C:
		}
	}
}

// ownShown are those of the member's objects, by their UIDs, that were once the same in the copy and on
// the broker. Some may change all the time.
type ownShown map[types.UID]bool

// compare tells whether all objects were the same now or before, and the version of the records on the broker.
func (s *ownShown) compare(ctx context.Context, v *View) (at string, all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if *s == nil {
		*s = ownShown{}
	}
	there := map[types.UID]string{}
	for _, of := range []struct {
		list   *metav1.PartialObjectMetadataList
		labels client.MatchingLabels
	}{
		{listOf(brokerv1alpha1.GroupVersion.String(), "ExportedServiceList"), client.MatchingLabels{names.LabelSourceCluster: v.Self.String()}},
		{listOf(discoveryv1.SchemeGroupVersion.String(), "EndpointSliceList"), ownSlices(v.Self)},
	} {
		if err := v.Client.List(ctx, of.list, client.InNamespace(v.Namespace), of.labels); err != nil {
			return "", false, fmt.Errorf("listing what this member has published: %w", err)
		}
		for _, o := range of.list.Items {
			there[o.UID] = o.ResourceVersion
		}
		if at == "" {
			at = of.list.ResourceVersion
		}
	}
	all = true
	for _, o := range v.own() {
		if there[o.GetUID()] == o.GetResourceVersion() {
			(*s)[o.GetUID()] = true
		} else if !(*s)[o.GetUID()] {
			all = false
		}
		delete(there, o.GetUID())
	}
	for uid := range there {
		all = all && (*s)[uid]
	}
	return at, all, nil
}

// own are the member's own objects in the copy.
func (v *View) own() []client.Object {
	var own []client.Object
	for _, o := range v.exports.GetStore().List() {
		if record := o.(*brokerv1alpha1.ExportedService); record.Spec.ClusterID == v.Self.String() {
			own = append(own, record)
		}
	}
	for _, o := range v.published.GetStore().List() {
		own = append(own, o.(*discoveryv1.EndpointSlice))
	}
	return own
}
