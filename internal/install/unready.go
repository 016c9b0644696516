package install

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Unready returns why a Deployment lacks ready pods: why Kubernetes creates no pods, for example because of a quota, and
// why its pods do not run. It is empty if nothing gives a reason.
func Unready(d *appsv1.Deployment, pods []corev1.Pod) []string {
	var why []string
	add := func(reason string) {
		if reason != "" && !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			add(fmt.Sprintf("Kubernetes cannot create pods: %s", c.Message))
		}
	}
	called := map[string][]string{} // the pods with the same reason
	var reasons []string
	for _, p := range pods {
		reason := unreadyPod(&p)
		if reason == "" {
			continue
		}
		if called[reason] == nil {
			reasons = append(reasons, reason)
		}
		called[reason] = append(called[reason], p.Name)
	}
	for _, reason := range reasons {
		add(strings.Join(called[reason], ", ") + ": " + reason)
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			add(c.Message)
		}
	}
	return why
}

// unreadyPod returns why a pod is not ready, or "".
func unreadyPod(p *corev1.Pod) string {
	ready := func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	if slices.ContainsFunc(p.Status.Conditions, ready) {
		return ""
	}
	var why []string
	if p.Status.Phase == corev1.PodFailed {
		why = append(why, strings.TrimSpace(p.Status.Reason+" "+p.Status.Message))
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			why = append(why, c.Message)
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			why = append(why, strings.TrimSpace(w.Reason+" "+w.Message))
		}
		if last := c.LastTerminationState.Terminated; last != nil && c.State.Running == nil {
			why = append(why, fmt.Sprintf("last exit status %d %s", last.ExitCode, last.Reason))
		}
		if c.State.Running != nil && !c.Ready {
			why = append(why, "container "+c.Name+" runs but is not ready")
		}
	}
	return strings.Join(why, ", ")
}
