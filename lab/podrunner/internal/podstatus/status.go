package podstatus

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Facts are what the status says beyond the containers.
type Facts struct {
	Initialized     bool
	NetworkReady    bool
	PodIPs, HostIPs []string
	StartTime       metav1.Time
	// Ended tells that a Pod that was to end has, whatever its restart policy.
	Ended bool
	// FailReason and FailMessage make the Pod a failed one.
	FailReason, FailMessage string
}

// Phase returns the Pod's phase.
func Phase(containers []Container, f Facts) corev1.PodPhase {
	if f.FailReason != "" {
		return corev1.PodFailed
	}
	running := slices.ContainsFunc(containers, func(c Container) bool { return c.Running() && c.Kind != Ephemeral })
	finished, failed := outcome(containers)
	switch {
	case finished && failed && !running:
		return corev1.PodFailed
	case finished && !running:
		return corev1.PodSucceeded
	case f.Ended:
		return endedPhase(containers)
	case !f.Initialized:
		return corev1.PodPending
	}
	for _, c := range containers {
		if c.Kind == Main && !c.Running() && c.exit() == nil {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

// endedPhase judges a Pod that was deleted by its Main containers' exit codes.
func endedPhase(containers []Container) corev1.PodPhase {
	for _, c := range containers {
		if exit := c.exit(); c.Kind == Main && (exit == nil || exit.ExitCode != 0) {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

// Status returns the Pod's whole status. Conditions that others own stay as
// they are in old, and those that do not change keep their time.
func Status(pod *corev1.Pod, old *corev1.PodStatus, containers []Container, f Facts, now metav1.Time) corev1.PodStatus {
	s := *old.DeepCopy()
	s.ObservedGeneration = pod.Generation
	s.Phase = Phase(containers, f)
	s.Reason, s.Message = f.FailReason, f.FailMessage
	s.StartTime = &f.StartTime
	s.PodIP, s.PodIPs, s.HostIP, s.HostIPs = "", nil, "", nil
	for _, ip := range f.PodIPs {
		s.PodIPs = append(s.PodIPs, corev1.PodIP{IP: ip})
	}
	for _, ip := range f.HostIPs {
		s.HostIPs = append(s.HostIPs, corev1.HostIP{IP: ip})
	}
	if len(f.PodIPs) > 0 {
		s.PodIP = f.PodIPs[0]
	}
	if len(f.HostIPs) > 0 {
		s.HostIP = f.HostIPs[0]
	}
	s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses = nil, nil, nil
	for i := range containers {
		status := containers[i].status()
		switch containers[i].Kind {
		case Main:
			s.ContainerStatuses = append(s.ContainerStatuses, status)
		case Ephemeral:
			s.EphemeralContainerStatuses = append(s.EphemeralContainerStatuses, status)
		default:
			s.InitContainerStatuses = append(s.InitContainerStatuses, status)
		}
	}
	for _, c := range conditions(pod, s, containers, f) {
		setCondition(&s, c, pod.Generation, now)
	}
	return s
}

func (c *Container) status() corev1.ContainerStatus {
	started := c.Running() && c.Started
	ready := c.Running() && c.Ready
	if c.Kind == Init { // ready means done
		ready = c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
	}
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "host://" + c.Image, ContainerID: c.ID,
		State: c.State, LastTerminationState: c.Last, RestartCount: c.Restarts, Started: &started, Ready: ready,
	}
}

// conditions are those that a kubelet owns.
func conditions(pod *corev1.Pod, s corev1.PodStatus, containers []Container, f Facts) []corev1.PodCondition {
	condition := func(t corev1.PodConditionType, ok bool, reason, message string) corev1.PodCondition {
		if ok {
			return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason}
		}
		return corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	}
	all := []corev1.PodCondition{condition(corev1.PodReadyToStartContainers, f.NetworkReady, "", "")}

	var uninitialized, unready []string
	for i := range containers {
		c := &containers[i]
		status := c.status()
		switch c.Kind {
		case Init:
			if !status.Ready {
				uninitialized = append(uninitialized, c.Name)
			}
		case Sidecar, Main:
			if c.Kind == Sidecar && !*status.Started {
				uninitialized = append(uninitialized, c.Name)
			}
			if !status.Ready {
				unready = append(unready, c.Name)
			}
		}
	}
	if s.Phase == corev1.PodSucceeded {
		return append(all, condition(corev1.PodInitialized, true, "PodCompleted", ""),
			condition(corev1.ContainersReady, false, "PodCompleted", ""), condition(corev1.PodReady, false, "PodCompleted", ""))
	}
	if f.Initialized || len(uninitialized) == 0 {
		all = append(all, condition(corev1.PodInitialized, true, "", ""))
	} else {
		all = append(all, condition(corev1.PodInitialized, false, "ContainersNotInitialized",
			fmt.Sprintf("containers with incomplete status: %v", uninitialized)))
	}
	if s.Phase == corev1.PodFailed {
		return append(all, condition(corev1.ContainersReady, false, "PodFailed", ""), condition(corev1.PodReady, false, "PodFailed", ""))
	}
	if len(unready) > 0 {
		message := fmt.Sprintf("containers with unready status: %v", unready)
		return append(all, condition(corev1.ContainersReady, false, "ContainersNotReady", message),
			condition(corev1.PodReady, false, "ContainersNotReady", message))
	}
	all = append(all, condition(corev1.ContainersReady, true, "", ""))
	gate := closedGate(pod, s)
	return append(all, condition(corev1.PodReady, gate == "", gateReason(gate), gate))
}

// closedGate describes the first readiness gate that is not open.
func closedGate(pod *corev1.Pod, s corev1.PodStatus) string {
	for _, g := range pod.Spec.ReadinessGates {
		i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType })
		switch {
		case i < 0:
			return fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", g.ConditionType)
		case s.Conditions[i].Status != corev1.ConditionTrue:
			return fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", g.ConditionType, s.Conditions[i].Status)
		}
	}
	return ""
}

func gateReason(gate string) string {
	if gate == "" {
		return ""
	}
	return "ReadinessGatesNotReady"
}

func setCondition(s *corev1.PodStatus, c corev1.PodCondition, generation int64, now metav1.Time) {
	c.ObservedGeneration, c.LastTransitionTime = generation, now
	i := slices.IndexFunc(s.Conditions, func(have corev1.PodCondition) bool { return have.Type == c.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return
	}
	if s.Conditions[i].Status == c.Status {
		c.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = c
}
