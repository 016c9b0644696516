package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent/membership"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// deployment is the name of what runs agents, where people look when nothing is imported.
	deployment = "atoll-agent"
	// againTaken is how often it is said that the id is another cluster's: API servers keep Events for an hour.
	againTaken = 50 * time.Minute
)

// sayTaken says in an Event what a person has to do, where the cluster's id is another cluster's. It is said
// on the agent's Deployment, for nothing else of this cluster's has to do with that.
func (s *session) sayTaken(ctx context.Context, err error) {
	var taken *membership.TakenError
	if !errors.As(err, &taken) || time.Since(s.saidTaken) < againTaken {
		return
	}
	c, err := client.New(s.local, client.Options{Scheme: scheme()})
	if err == nil {
		err = c.Create(ctx, takenEvent(ctx, c, taken))
	}
	if err != nil {
		s.log.Error("saying in an Event that the cluster id is another cluster's failed", "error", err)
		return
	}
	s.saidTaken = time.Now()
}

func takenEvent(ctx context.Context, c client.Reader, taken *membership.TakenError) *eventsv1.Event {
	return deploymentEvent(ctx, c, taken.ID, corev1.EventTypeWarning, "ClusterIDTaken", "Join", taken.Error())
}

// deploymentEvent is an Event on the agent's Deployment, where people look when nothing is imported.
func deploymentEvent(ctx context.Context, c client.Reader, instance, kind, reason, action, note string) *eventsv1.Event {
	about := corev1.ObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Namespace: names.SystemNamespace, Name: deployment}
	entry := &metav1.PartialObjectMetadata{}
	entry.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if c.Get(ctx, client.ObjectKey{Namespace: about.Namespace, Name: about.Name}, entry) == nil { // else the agent runs in another way
		about.UID = entry.UID
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, GenerateName: deployment + "-"},
		EventTime:  metav1.NowMicro(), Type: kind, Reason: reason, Action: action, Note: status.Note(note),
		Regarding: about, ReportingController: "atoll.dev/agent", ReportingInstance: fmt.Sprintf("%s-%s", deployment, instance),
	}
}
