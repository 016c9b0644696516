package agent

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/atoll-mcs/atoll/internal/agent/membership"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// slow answers nothing to the first request after it knows the API, and then as usual.
type slow struct {
	next  http.RoundTripper
	lost  atomic.Int32
	limit int32
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && s.lost.Add(1) <= s.limit {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return s.next.RoundTrip(r)
}

// An Event is not lost because the API server is slow once.
func TestEventOfSlowAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := apiserver.New(1)
		told := 0
		api.OnEvent(func(*eventsv1.Event) { told++ })
		config := api.Config()
		s := &slow{limit: 2}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { s.next = next; return s })
		m := &member{process: &process{local: config}}
		if err := m.record(t.Context(), "Reason", "Import", "text"); err != nil || told != 1 || s.lost.Load() != 3 {
			t.Errorf("%v; %d Events after %d requests", err, told, s.lost.Load())
		}
	})
}

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
		e := deploymentEvent(t.Context(), c, "atoll-agent-x", "c1", corev1.EventTypeWarning, "ClusterIDTaken", "Join", (&membership.TakenError{ID: "c1", Owner: "theirs", Self: "mine"}).Error())
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
