package survey

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// readTraffic reads the TrafficPolicies that may apply to the scope's services, and whose weights its namespace accepts.
func (s *Survey) readTraffic(ctx context.Context, c client.Reader, scope Scope) error {
	before := len(s.Unread)
	defer func() { s.UnreadTraffic = append(s.UnreadTraffic, s.Unread[before:]...) }()
	from := []string{scope.Namespace, names.SystemNamespace}
	if scope.Namespace == "" {
		from = []string{""} // all
	}
	for _, namespace := range from {
		list := &trafficv1alpha1.TrafficPolicyList{}
		if err := s.list(ctx, c, "TrafficPolicies", list, client.InNamespace(namespace)); err != nil {
			return err
		}
		s.Cluster.TrafficPolicies = append(s.Cluster.TrafficPolicies, list.Items...)
	}
	if scope.Namespace == "" {
		return nil // Namespaces has the annotations
	}
	namespace := &corev1.Namespace{}
	switch err := c.Get(ctx, client.ObjectKey{Name: scope.Namespace}, namespace); {
	case apierrors.IsForbidden(err):
		s.Unread = append(s.Unread, fmt.Errorf("reading namespace %s: %w", scope.Namespace, err))
	case client.IgnoreNotFound(err) != nil:
		return err
	}
	s.Cluster.AcceptWeights = namespace.Annotations[names.AnnotationAcceptWeights]
	return nil
}

// OmitsStandby reports whether the agent writes no endpoints on standby. It needs Scope.Installation.
func (c *Cluster) OmitsStandby() bool {
	const flag = "--omit-standby-endpoints"
	for _, container := range c.Deployments[render.AgentName].Spec.Template.Spec.Containers {
		if slices.Contains(container.Args, flag) || slices.Contains(container.Args, flag+"=true") {
			return true
		}
	}
	return false
}
