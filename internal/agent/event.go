package agent

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// deployment is the agent's Deployment, where people look when nothing is imported.
const deployment = "atoll-agent"

// warn records an Event on the agent's Deployment. It does not block: callers must not wait for the API server.
func (m *member) warn(ctx context.Context, reason, action, text string) {
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		c, err := client.New(m.local, client.Options{Scheme: scheme()})
		if err == nil {
			err = c.Create(ctx, deploymentEvent(ctx, c, m.membership.ClusterID.String(), corev1.EventTypeWarning, reason, action, text))
		}
		if err != nil && ctx.Err() == nil {
			m.log.Error("Failed to record an Event on the agent's Deployment", "reason", reason, "error", err)
		}
	}()
}

func deploymentEvent(ctx context.Context, c client.Reader, instance, kind, reason, action, note string) *eventsv1.Event {
	about := corev1.ObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Namespace: names.SystemNamespace, Name: deployment}
	entry := &metav1.PartialObjectMetadata{}
	entry.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if c.Get(ctx, client.ObjectKey{Namespace: about.Namespace, Name: about.Name}, entry) == nil { // else the agent does not run in a Deployment
		about.UID = entry.UID
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, GenerateName: deployment + "-"},
		EventTime:  metav1.NowMicro(), Type: kind, Reason: reason, Action: action, Note: status.Note(note),
		Regarding: about, ReportingController: "atoll.dev/agent", ReportingInstance: fmt.Sprintf("%s-%s", deployment, instance),
	}
}
