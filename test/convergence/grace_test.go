package convergence

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// TestServiceThatIsMadeAgainKeepsItsAddress deletes an exported Service and makes it again, as kubectl replace --force does: its endpoints go at once, and
// the imports keep their clusterset IPs in both clusters. Where it is not made again they go.
func TestServiceThatIsMadeAgainKeepsItsAddress(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		p, _, members, stop := pair(ctx, t)
		defer stop()
		p.export(members[1].Client)
		key := client.ObjectKey{Namespace: "shop", Name: "web"}
		before := map[int]string{}
		for i, m := range members {
			imp := &mcsv1beta1.ServiceImport{}
			p.must(m.Client.Get(ctx, key, imp))
			before[i] = imp.Spec.IPs[0]
		}
		service := &corev1.Service{}
		p.must(p.c.Get(ctx, key, service))
		p.must(p.c.Delete(ctx, service))
		<-time.After(10 * time.Second)
		for i, m := range members {
			if n := endpointsOf(ctx, p, m.Client); n != 0 {
				t.Errorf("c%d has %d endpoints of a Service that is deleted", i+1, n)
			}
		}
		p.must(p.c.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}))
		<-time.After(40 * time.Second)
		for i, m := range members {
			imp := &mcsv1beta1.ServiceImport{}
			p.must(m.Client.Get(ctx, key, imp))
			if imp.Spec.IPs[0] != before[i] {
				t.Errorf("c%d has clusterset IP %s, want %s", i+1, imp.Spec.IPs[0], before[i])
			}
			if n := endpointsOf(ctx, p, m.Client); n != 2 {
				t.Errorf("c%d has %d endpoints of the Service that was made again, want 2", i+1, n)
			}
		}
		p.must(p.c.Get(ctx, key, service))
		p.must(p.c.Delete(ctx, service))
		<-time.After(31 * time.Second)
		for i, m := range members {
			if err := m.Client.Get(ctx, key, &mcsv1beta1.ServiceImport{}); !apierrors.IsNotFound(err) {
				t.Errorf("c%d has the import still: %v", i+1, err)
			}
		}
	})
}

// endpointsOf counts the imported endpoints in a cluster.
func endpointsOf(ctx context.Context, p *paced, c client.Client) (n int) {
	p.t.Helper()
	list := &discoveryv1.EndpointSliceList{}
	p.must(c.List(ctx, list, client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager, names.LabelServiceName: "web"}))
	for _, s := range list.Items {
		n += len(s.Endpoints)
	}
	return n
}
