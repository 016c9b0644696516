package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// deployment is the agent's Deployment, where people look when nothing is imported.
const deployment = "atoll-agent"

const (
	// eventTime limits an attempt to record an Event, and eventPatience all of them: people are told once, so that must not be lost when
	// an API server is slow.
	eventTime, eventPatience = 10 * time.Second, 5 * time.Minute
	// eventPause is the time between attempts.
	eventPause = 5 * time.Second
)

// warn records an Event on the agent's Deployment. It does not block: callers must not wait for the API server.
func (m *member) warn(ctx context.Context, reason, action, text string) {
	go func() {
		if err := m.record(ctx, reason, action, text); err != nil && ctx.Err() == nil {
			m.log.Error("Failed to record an Event on the agent's Deployment", "reason", reason, "error", err)
		}
	}()
}

func (m *member) record(ctx context.Context, reason, action, text string) error {
	c, err := client.New(m.local, client.Options{Scheme: scheme()})
	if err != nil {
		return err
	}
	name := deployment + "-" + strings.ToLower(rand.Text()) // an attempt may have succeeded without an answer
	var last error
	err = wait.PollUntilContextTimeout(ctx, eventPause, eventPatience, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, eventTime)
		defer cancel()
		last = c.Create(ctx, deploymentEvent(ctx, c, name, m.membership.ClusterID.String(), corev1.EventTypeWarning, reason, action, text))
		if apierrors.IsAlreadyExists(last) {
			last = nil
		}
		return last == nil || apierrors.IsForbidden(last) || apierrors.IsNotFound(last) || apierrors.IsInvalid(last), nil
	})
	return cmp.Or(last, err)
}

func deploymentEvent(ctx context.Context, c client.Reader, name, instance, kind, reason, action, note string) *eventsv1.Event {
	about := corev1.ObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Namespace: names.SystemNamespace, Name: deployment}
	entry := &metav1.PartialObjectMetadata{}
	entry.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if c.Get(ctx, client.ObjectKey{Namespace: about.Namespace, Name: about.Name}, entry) == nil { // else the agent does not run in a Deployment
		about.UID = entry.UID
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: name},
		EventTime:  metav1.NowMicro(), Type: kind, Reason: reason, Action: action, Note: status.Note(note),
		Regarding: about, ReportingController: "atoll-agent", ReportingInstance: fmt.Sprintf("%s-%s", deployment, instance),
	}
}
