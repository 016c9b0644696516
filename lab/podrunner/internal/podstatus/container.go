// Package podstatus decides what is to be done with a Pod's containers and what
// its status says of them. It decides only, from values that are handed in, as
// the kubelet would; see "Pod Lifecycle" in Kubernetes' documentation.
package podstatus

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is when a container runs.
type Kind int

// The kinds of containers, in the order in which a Pod starts them.
const (
	// Init containers run to their end one after the other, before Main ones.
	Init Kind = iota
	// Sidecar containers are started among the Init ones, and stay.
	Sidecar
	// Main containers are the ones that the Pod is made for.
	Main
	// Ephemeral containers are added by `kubectl debug`; nothing waits for them.
	Ephemeral
)

// Why containers wait before anything was done about them, as the kubelet says.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
)

// Container is what is known of a container.
type Container struct {
	Name, Image string
	Kind        Kind
	// Restart is the policy for this container.
	Restart corev1.RestartPolicy
	// State and Last are as in the API. Ready tells that a Sidecar or Main
	// container serves; Started that it passed its startup probe and hook.
	State, Last    corev1.ContainerState
	Started, Ready bool
	Restarts       int32
	ID             string
	// NotBefore is when it may be started again.
	NotBefore time.Time
}

// New returns a container that has not run, and why it waits.
func New(name, image string, kind Kind, restart corev1.RestartPolicy, reason string) Container {
	return Container{Name: name, Image: image, Kind: kind, Restart: restart, State: Waiting(reason, "")}
}

// Waiting is the state of a container that does not run, for a reason.
func Waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// All returns the containers of a Pod that has not started, the Init and
// Sidecar ones first, Ephemeral ones last.
func All(pod *corev1.Pod) []Container {
	reason := reasonCreating
	if len(pod.Spec.InitContainers) > 0 {
		reason = reasonInitializing
	}
	var all []Container
	for _, c := range pod.Spec.InitContainers {
		kind, restart := Init, pod.Spec.RestartPolicy
		if c.RestartPolicy != nil {
			restart = corev1.RestartPolicy(*c.RestartPolicy)
			if restart == corev1.RestartPolicyAlways {
				kind = Sidecar
			}
		} else if restart == corev1.RestartPolicyAlways {
			restart = corev1.RestartPolicyOnFailure
		}
		all = append(all, New(c.Name, c.Image, kind, restart, reason))
	}
	for _, c := range pod.Spec.Containers {
		restart := pod.Spec.RestartPolicy
		if c.RestartPolicy != nil {
			restart = corev1.RestartPolicy(*c.RestartPolicy)
		}
		all = append(all, New(c.Name, c.Image, Main, restart, reason))
	}
	return WithEphemeral(all, pod)
}

// WithEphemeral returns the containers with those added that the Pod has got
// since.
func WithEphemeral(containers []Container, pod *corev1.Pod) []Container {
	for _, e := range pod.Spec.EphemeralContainers {
		if !slices.ContainsFunc(containers, func(c Container) bool { return c.Name == e.Name }) {
			containers = append(containers, New(e.Name, e.Image, Ephemeral, corev1.RestartPolicyNever, reasonCreating))
		}
	}
	return containers
}

// Running tells whether the container's processes run.
func (c *Container) Running() bool { return c.State.Running != nil }

// exit is how the container ended the last time, nil when it runs or never ran.
func (c *Container) exit() *corev1.ContainerStateTerminated {
	switch {
	case c.State.Terminated != nil:
		return c.State.Terminated
	case c.State.Waiting != nil:
		return c.Last.Terminated
	}
	return nil
}

// finished tells that the container has ended for good.
func (c *Container) finished() bool {
	exit := c.exit()
	if exit == nil {
		return false
	}
	switch c.Restart {
	case corev1.RestartPolicyNever:
		return true
	case corev1.RestartPolicyOnFailure:
		return exit.ExitCode == 0
	}
	return false
}

func (c *Container) failed() bool { return c.finished() && c.exit().ExitCode != 0 }

// Adopt takes over what the status said when the runner that wrote it ended:
// its containers ended with it. Init containers of a Pod that goes on run again,
// for what they left behind is gone.
func Adopt(containers []Container, status *corev1.PodStatus, now time.Time) {
	statuses := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses)
	for i := range containers {
		c := &containers[i]
		at := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if at < 0 {
			continue
		}
		old := statuses[at]
		c.Last, c.Restarts, c.ID = old.LastTerminationState, old.RestartCount, old.ContainerID
		switch {
		case old.State.Terminated != nil:
			c.State = old.State
		case old.State.Running != nil:
			c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container ended with the pod runner.",
				StartedAt: old.State.Running.StartedAt, FinishedAt: metav1.NewTime(now), ContainerID: old.ContainerID,
			}}
		}
	}
	if finished, _ := outcome(containers); finished {
		return
	}
	for i := range containers {
		if c := &containers[i]; c.Kind == Init && c.State.Terminated != nil {
			c.Last, c.State = c.State, Waiting(reasonInitializing, "")
		}
	}
}

// outcome tells whether the Main containers have ended for good, or never will
// run because an Init container failed for good, and whether any failed.
func outcome(containers []Container) (finished, failed bool) {
	finished = true
	for i := range containers {
		switch c := &containers[i]; c.Kind {
		case Init:
			if c.failed() {
				return true, true
			}
		case Main:
			finished = finished && c.finished()
			failed = failed || c.failed()
		}
	}
	return finished, finished && failed
}

// Attempt is the number that the next run of the container has, from 0: the
// restart count that the status will show.
func (c *Container) Attempt() int32 {
	if c.exit() != nil {
		return c.Restarts + 1
	}
	return c.Restarts
}

// Begin notes that the container runs, as id.
func (c *Container) Begin(id string, now time.Time) {
	c.Restarts = c.Attempt()
	c.keepEnd()
	c.ID, c.Started, c.Ready = id, false, false
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
}

// Hold notes why the container does not run yet, or not again.
func (c *Container) Hold(reason, message string) {
	c.keepEnd()
	c.State = Waiting(reason, message)
}

// keepEnd moves the end of the run before to where the API has it.
func (c *Container) keepEnd() {
	if c.State.Terminated != nil {
		c.Last = corev1.ContainerState{Terminated: c.State.Terminated}
	}
}

// Ended notes how the container's run ended.
func (c *Container) Ended(code int, message string, now time.Time) {
	end := &corev1.ContainerStateTerminated{
		ExitCode: int32(code), Reason: "Completed", Message: message, FinishedAt: metav1.NewTime(now), ContainerID: c.ID,
	}
	if code != 0 {
		end.Reason = "Error"
	}
	if c.State.Running != nil {
		end.StartedAt = c.State.Running.StartedAt
	}
	c.State = corev1.ContainerState{Terminated: end}
	c.Started, c.Ready = false, false
}

// CannotStart notes that the command could not be started, which counts as an
// end of the container.
func (c *Container) CannotStart(id, message string, now time.Time) {
	c.Begin(id, now)
	c.Ended(128, message, now)
	c.State.Terminated.Reason = "StartError"
}

// CrashLooping tells that the container waits to be started again after an end.
func (c *Container) CrashLooping() bool { return !c.Running() && c.exit() != nil }
