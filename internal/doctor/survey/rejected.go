package survey

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// Rejection is an agent's last Event that the API server rejects an object or its status, for example because of a quota.
type Rejection struct {
	At time.Time
	// Message includes the API server's.
	Message string
}

// Reasons of the agents' Events (packages serviceimport and status).
const (
	importRefused = "ImportRefused"
	statusRefused = "StatusRefused"
)

// readStatusRefused reads the last Events about objects whose status the API server rejects: their conditions may be outdated.
func (s *Survey) readStatusRefused(ctx context.Context, c client.Reader, scope Scope) {
	events := &corev1.EventList{}
	if !scope.Installation || c.List(ctx, events, client.InNamespace(scope.Namespace), client.MatchingFields{"reason": statusRefused}) != nil {
		return
	}
	s.Cluster.StatusRefused = map[corev1.ObjectReference]Rejection{}
	for i := range events.Items {
		e := &events.Items[i]
		of := corev1.ObjectReference{Kind: e.InvolvedObject.Kind, Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
		if at := lastTime(e); !at.Before(s.Cluster.StatusRefused[of].At) && (scope.Service == "" || of.Name == scope.Service) {
			s.Cluster.StatusRefused[of] = Rejection{at, e.Message}
		}
	}
}

// readRejected reads why ServiceImports do not exist: there is no object whose condition says so. Without the permission
// to list Events, only the agents' logs do.
func (s *Survey) readRejected(ctx context.Context, c client.Reader, scope Scope) {
	if !scope.Installation || !s.lacksImport(scope) {
		return
	}
	events := &corev1.EventList{}
	if c.List(ctx, events, client.InNamespace(scope.Namespace), client.MatchingFields{"reason": importRefused}) != nil {
		return
	}
	s.Cluster.Rejected = map[types.NamespacedName]Rejection{}
	for i := range events.Items {
		e := &events.Items[i]
		if e.Related == nil || e.Related.Kind != mcsv1beta1.ServiceImportKindName {
			continue // the ServiceImport exists, and its condition has the reason
		}
		service := types.NamespacedName{Namespace: e.Related.Namespace, Name: e.Related.Name}
		if at := lastTime(e); !at.Before(s.Cluster.Rejected[service].At) {
			s.Cluster.Rejected[service] = Rejection{at, e.Message}
		}
	}
}

// lacksImport reports whether an exported service of the scope has no ServiceImport.
func (s *Survey) lacksImport(scope Scope) bool {
	has := map[types.NamespacedName]bool{}
	for i := range s.Cluster.Imports {
		has[client.ObjectKeyFromObject(&s.Cluster.Imports[i])] = true
	}
	if scope.Service != "" {
		return !has[types.NamespacedName{Namespace: scope.Namespace, Name: scope.Service}]
	}
	return s.Broker != nil && slices.ContainsFunc(s.Broker.Exports, func(e brokerv1alpha1.ExportedService) bool { return !has[e.Spec.Service()] })
}

// lastTime returns when an Event last happened.
func lastTime(e *corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	for _, at := range []time.Time{e.EventTime.Time, e.LastTimestamp.Time} {
		if at.After(last) {
			last = at
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}
