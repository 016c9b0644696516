package agent

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/atoll-mcs/atoll/internal/agent/membership"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// The agent reports a taken id by an Event on its Deployment, with the Deployment's UID, so
// that kubectl describe shows the Event. Without a Deployment the agent still sends the Event.
func TestTakenEvent(t *testing.T) {
	there := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: "atoll-agent", UID: "u1"}}
	s := scheme()
	if err := appsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for uid, objects := range map[string][]client.Object{"u1": {there}, "": nil} {
		c := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
		e := deploymentEvent(t.Context(), c, "c1", corev1.EventTypeWarning, "ClusterIDTaken", "Join", (&membership.TakenError{ID: "c1", Owner: "theirs", Self: "mine"}).Error())
		if e.Regarding.Kind != "Deployment" || e.Regarding.Name != "atoll-agent" || string(e.Regarding.UID) != uid || e.Type != corev1.EventTypeWarning {
			t.Errorf("the Event is %+v", e)
		}
		if !strings.Contains(e.Note, "atoll leave") || len(e.Note) > 1024 {
			t.Errorf("the note of %d bytes is %q", len(e.Note), e.Note)
		}
		if err := c.Create(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
}
