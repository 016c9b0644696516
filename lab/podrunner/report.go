package podrunner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podstatus"
)

// report hands the status over for writing.
func (w *worker) report(thenDelete bool) {
	w.facts.Initialized = w.initialized
	old := w.status
	old.Conditions = foreignFrom(w.pod.Status.Conditions, w.status.Conditions)
	w.status = podstatus.Status(w.pod, &old, w.snapshot(), w.facts, metav1.Now())
	status := w.status
	w.writer.set(w.pod, &status, thenDelete)
}

// foreignFrom takes a runner's own conditions from own, all others from api.
func foreignFrom(api, own []corev1.PodCondition) []corev1.PodCondition {
	isOwn := func(c corev1.PodCondition) bool { return slices.Contains(ownConditions, c.Type) }
	foreign := slices.DeleteFunc(slices.Clone(api), isOwn)
	return append(foreign, slices.DeleteFunc(slices.Clone(own), func(c corev1.PodCondition) bool { return !isOwn(c) })...)
}

// publish lets the kubelet's API see the Pod.
func (w *worker) publish() {
	v := &view{pod: w.pod, containers: map[string]containerView{}}
	if w.sandbox != nil {
		v.sandbox = w.sandbox.namespace
	}
	for _, c := range w.containers {
		v.containers[c.Name] = c.view(w)
	}
	w.view.Store(v)
}

// warn reports what hinders the Pod, once.
func (w *worker) warn(err error) {
	if w.problem == err.Error() {
		return
	}
	w.problem = err.Error()
	reason := "FailedMount"
	if w.sandbox == nil {
		reason = "FailedCreatePodSandBox"
	}
	w.event(corev1.EventTypeWarning, reason, "%v", err)
	w.log.Warn("preparing pod", "reason", reason, "error", err)
}

func (w *worker) event(kind, reason, format string, args ...any) {
	w.runner.recorder.Eventf(w.reference, kind, reason, format, args...)
}
