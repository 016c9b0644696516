package podstatus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// The containers of the tables below, in several states.
func fresh(kind Kind, restart corev1.RestartPolicy) Container {
	return New("c", "image", kind, restart, reasonCreating)
}

func up(c Container) Container {
	c.Begin("id", now)
	c.Started, c.Ready = true, true
	return c
}

func starting(c Container) Container {
	c.Begin("id", now)
	return c
}

func ended(c Container, code int) Container {
	if !c.Running() {
		c.Begin("id", now)
	}
	c.Ended(code, "", now)
	return c
}

func looping(c Container, code int) Container {
	c = ended(c, code)
	c.NotBefore = now.Add(time.Second)
	c.Hold("CrashLoopBackOff", "")
	return c
}

const (
	always    = corev1.RestartPolicyAlways
	onFailure = corev1.RestartPolicyOnFailure
	never     = corev1.RestartPolicyNever
)

func TestNextAndPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		containers  []Container
		initialized bool
		want        Step
		phase       corev1.PodPhase // with the step's Initialized
	}{
		"nothing has run":                   {[]Container{fresh(Main, always), fresh(Main, always)}, false, Step{Start: []int{0, 1}, Initialized: true}, "Pending"},
		"all run":                           {[]Container{up(fresh(Main, always))}, true, Step{Initialized: true}, "Running"},
		"one is left to start":              {[]Container{up(fresh(Main, always)), fresh(Main, always)}, true, Step{Start: []int{1}, Initialized: true}, "Pending"},
		"Always restarts what succeeded":    {[]Container{ended(fresh(Main, always), 0)}, true, Step{Start: []int{0}, Initialized: true}, "Running"},
		"OnFailure restarts what failed":    {[]Container{ended(fresh(Main, onFailure), 1)}, true, Step{Start: []int{0}, Initialized: true}, "Running"},
		"OnFailure leaves what succeeded":   {[]Container{ended(fresh(Main, onFailure), 0)}, true, Step{Finished: true, Initialized: true}, "Succeeded"},
		"Never leaves what failed":          {[]Container{ended(fresh(Main, never), 1)}, true, Step{Finished: true, Initialized: true}, "Failed"},
		"Never: one of two failed":          {[]Container{ended(fresh(Main, never), 1), ended(fresh(Main, never), 0)}, true, Step{Finished: true, Initialized: true}, "Failed"},
		"Never: one of two still runs":      {[]Container{ended(fresh(Main, never), 1), up(fresh(Main, never))}, true, Step{Initialized: true}, "Running"},
		"a looping one waits":               {[]Container{looping(fresh(Main, always), 1)}, true, Step{Delay: []int{0}, Initialized: true}, "Running"},
		"init containers come first":        {[]Container{fresh(Init, onFailure), fresh(Init, onFailure), fresh(Main, always)}, false, Step{Start: []int{0}}, "Pending"},
		"init containers come one by one":   {[]Container{ended(fresh(Init, onFailure), 0), fresh(Init, onFailure), fresh(Main, always)}, false, Step{Start: []int{1}}, "Pending"},
		"nothing beside an init container":  {[]Container{up(fresh(Init, onFailure)), fresh(Main, always)}, false, Step{}, "Pending"},
		"after the last init container":     {[]Container{ended(fresh(Init, onFailure), 0), fresh(Main, always)}, false, Step{Start: []int{1}, Initialized: true}, "Pending"},
		"a failed init container":           {[]Container{ended(fresh(Init, onFailure), 1), fresh(Main, always)}, false, Step{Start: []int{0}}, "Pending"},
		"a failed init container for good":  {[]Container{ended(fresh(Init, never), 1), fresh(Main, never)}, false, Step{Finished: true}, "Failed"},
		"a sidecar must be up":              {[]Container{starting(fresh(Sidecar, always)), fresh(Main, always)}, false, Step{}, "Pending"},
		"a sidecar is up":                   {[]Container{up(fresh(Sidecar, always)), fresh(Main, always)}, false, Step{Start: []int{1}, Initialized: true}, "Pending"},
		"a sidecar that ends comes back":    {[]Container{ended(fresh(Sidecar, always), 0), up(fresh(Main, never))}, true, Step{Start: []int{0}, Initialized: true}, "Running"},
		"a restarting sidecar stops nobody": {[]Container{starting(fresh(Sidecar, always)), ended(fresh(Main, always), 1)}, true, Step{Start: []int{1}, Initialized: true}, "Running"},
		"sidecars end after all others":     {[]Container{up(fresh(Sidecar, always)), ended(fresh(Main, never), 0)}, true, Step{Stop: []int{0}, Initialized: true}, "Running"},
		"an ended sidecar stays so then":    {[]Container{ended(fresh(Sidecar, always), 137), ended(fresh(Main, never), 0)}, true, Step{Finished: true, Initialized: true}, "Succeeded"},
		"nobody waits for ephemeral ones":   {[]Container{ended(fresh(Main, never), 0), up(fresh(Ephemeral, never))}, true, Step{Stop: []int{1}, Initialized: true}, "Succeeded"},
		"an ephemeral one runs once":        {[]Container{up(fresh(Main, always)), ended(fresh(Ephemeral, never), 1)}, true, Step{Initialized: true}, "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			step := Next(tc.containers, tc.initialized, now)
			if diff := cmp.Diff(tc.want, step); diff != "" {
				t.Error(diff)
			}
			if phase := Phase(tc.containers, Facts{Initialized: step.Initialized}); phase != tc.phase {
				t.Errorf("phase %s, want %s", phase, tc.phase)
			}
		})
	}
}

// TestPodsEnd plays Pods whose containers end in random order and checks that
// they come to the end that their exit codes and policy mean.
func TestPodsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		restart := rapid.SampledFrom([]corev1.RestartPolicy{onFailure, never}).Draw(t, "restart")
		var containers []Container
		for range rapid.IntRange(0, 3).Draw(t, "first ones") {
			if rapid.Bool().Draw(t, "sidecar") {
				containers = append(containers, fresh(Sidecar, always))
			} else {
				containers = append(containers, fresh(Init, restart))
			}
		}
		for range rapid.IntRange(1, 3).Draw(t, "main ones") {
			containers = append(containers, fresh(Main, restart))
		}
		initialized, failed := false, false
		for range 300 {
			step := Next(containers, initialized, now)
			if step.Finished {
				want := corev1.PodSucceeded
				if failed && restart == never {
					want = corev1.PodFailed
				}
				if phase := Phase(containers, Facts{Initialized: step.Initialized}); phase != want {
					t.Fatalf("ended as %s, want %s", phase, want)
				}
				return
			}
			initialized = step.Initialized
			for _, i := range step.Start {
				if containers[i].Running() {
					t.Fatalf("container %d is started twice", i)
				}
				containers[i] = up(containers[i])
			}
			for _, i := range step.Stop {
				containers[i] = ended(containers[i], 143)
			}
			var running []int
			for i, c := range containers {
				if c.Running() && c.Kind != Sidecar {
					running = append(running, i)
				}
			}
			if len(running) > 0 {
				code := rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "code")
				i := rapid.SampledFrom(running).Draw(t, "ending")
				containers[i] = ended(containers[i], code)
				failed = failed || code != 0
			}
		}
	})
}

func TestBackoff(t *testing.T) {
	var waits []time.Duration
	ends := 0
	for range 9 {
		var wait time.Duration
		wait, ends = Backoff(ends, time.Second)
		waits = append(waits, wait/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60}, waits); diff != "" {
		t.Error(diff)
	}
	if wait, ends := Backoff(ends, calmTime); wait != 0 || ends != 1 {
		t.Errorf("after a calm time: %s, %d", wait, ends)
	}
	if wait, _ := Backoff(1000, 0); wait != maxBackoff {
		t.Errorf("after many ends: %s", wait)
	}
}

func TestTransitions(t *testing.T) {
	c := fresh(Main, always)
	if c.Attempt() != 0 {
		t.Errorf("first attempt %d", c.Attempt())
	}
	c.Begin("a", now)
	c.Ended(3, "words", now)
	if c.Attempt() != 1 || !c.CrashLooping() || c.State.Terminated.Reason != "Error" || c.State.Terminated.ContainerID != "a" {
		t.Errorf("ended: %+v", c)
	}
	c.Hold("CrashLoopBackOff", "")
	if c.Attempt() != 1 || c.Last.Terminated.Message != "words" {
		t.Errorf("held: %+v", c)
	}
	c.Begin("b", now)
	if c.Restarts != 1 || c.Last.Terminated.ExitCode != 3 || c.Ready || c.ID != "b" {
		t.Errorf("again: %+v", c)
	}
	c.Ended(0, "", now)
	c.CannotStart("c", "no such program", now)
	if c.Restarts != 2 || c.State.Terminated.Reason != "StartError" || c.State.Terminated.ExitCode != 128 || c.Last.Terminated.Reason != "Completed" {
		t.Errorf("cannot start: %+v", c)
	}
}

func testPod(spec corev1.PodSpec) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: spec}
}

func TestAll(t *testing.T) {
	sidecar := corev1.ContainerRestartPolicyAlways
	pod := testPod(corev1.PodSpec{
		RestartPolicy:  always,
		InitContainers: []corev1.Container{{Name: "a"}, {Name: "b", RestartPolicy: &sidecar}},
		Containers:     []corev1.Container{{Name: "c"}},
	})
	type short struct {
		Name    string
		Kind    Kind
		Restart corev1.RestartPolicy
		Reason  string
	}
	var got []short
	for _, c := range All(pod) {
		got = append(got, short{c.Name, c.Kind, c.Restart, c.State.Waiting.Reason})
	}
	want := []short{{"a", Init, onFailure, "PodInitializing"}, {"b", Sidecar, always, "PodInitializing"}, {"c", Main, always, "PodInitializing"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAdopt(t *testing.T) {
	pod := testPod(corev1.PodSpec{
		RestartPolicy:  onFailure,
		InitContainers: []corev1.Container{{Name: "first"}},
		Containers:     []corev1.Container{{Name: "main"}, {Name: "other"}},
		EphemeralContainers: []corev1.EphemeralContainer{
			{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}},
		},
	})
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0}}
	status := corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "first", State: done}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: "main", RestartCount: 4, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "other", State: done},
		},
		EphemeralContainerStatuses: []corev1.ContainerStatus{{Name: "debug", State: done}},
	}
	containers := All(pod)
	Adopt(containers, &status, now)
	step := Next(containers, false, now)
	if diff := cmp.Diff(Step{Start: []int{0}}, step); diff != "" {
		t.Errorf("what ran before runs again from the beginning: %s", diff)
	}
	if c := containers[1]; c.State.Terminated == nil || c.State.Terminated.ExitCode != 137 || c.Attempt() != 5 {
		t.Errorf("the container that ran: %+v", c)
	}
	containers[0] = ended(containers[0], 0)
	if diff := cmp.Diff(Step{Start: []int{1}, Initialized: true}, Next(containers, false, now)); diff != "" {
		t.Errorf("what was done stays done: %s", diff)
	}

	status.ContainerStatuses[0].State = done
	containers = All(pod)
	Adopt(containers, &status, now)
	if step := Next(containers, false, now); !step.Finished {
		t.Errorf("a Pod that was done: %+v", step)
	}
}

func conditionsOf(s corev1.PodStatus) map[corev1.PodConditionType]string {
	got := map[corev1.PodConditionType]string{}
	for _, c := range s.Conditions {
		got[c.Type] = string(c.Status) + " " + c.Reason
	}
	return got
}

func TestStatus(t *testing.T) {
	pod := testPod(corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "x/gate"}}})
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}
	open := corev1.PodCondition{Type: "x/gate", Status: corev1.ConditionTrue}
	facts := Facts{Initialized: true, NetworkReady: true, PodIPs: []string{"10.1.1.2", "fd00::2"}, HostIPs: []string{"172.30.1.1"}, StartTime: metav1.NewTime(now)}
	main := fresh(Main, always)
	for name, tc := range map[string]struct {
		containers []Container
		facts      Facts
		foreign    []corev1.PodCondition
		want       map[corev1.PodConditionType]string
		phase      corev1.PodPhase
	}{
		"ready": {[]Container{up(main)}, facts, []corev1.PodCondition{open}, map[corev1.PodConditionType]string{
			"Ready": "True ", "ContainersReady": "True ", "Initialized": "True ", "PodReadyToStartContainers": "True ", "x/gate": "True "}, "Running"},
		"closed gate": {[]Container{up(main)}, facts, nil, map[corev1.PodConditionType]string{
			"Ready": "False ReadinessGatesNotReady", "ContainersReady": "True ", "Initialized": "True ", "PodReadyToStartContainers": "True "}, "Running"},
		"not ready": {[]Container{starting(main)}, facts, nil, map[corev1.PodConditionType]string{
			"Ready": "False ContainersNotReady", "ContainersReady": "False ContainersNotReady", "Initialized": "True ", "PodReadyToStartContainers": "True "}, "Running"},
		"initialising": {[]Container{up(fresh(Init, always)), main}, Facts{}, nil, map[corev1.PodConditionType]string{
			"Ready": "False ContainersNotReady", "ContainersReady": "False ContainersNotReady", "Initialized": "False ContainersNotInitialized",
			"PodReadyToStartContainers": "False "}, "Pending"},
		"succeeded": {[]Container{ended(fresh(Main, never), 0)}, Facts{Initialized: true}, nil, map[corev1.PodConditionType]string{
			"Ready": "False PodCompleted", "ContainersReady": "False PodCompleted", "Initialized": "True PodCompleted", "PodReadyToStartContainers": "False "}, "Succeeded"},
		"deleted": {[]Container{ended(main, 143)}, Facts{Initialized: true, Ended: true}, nil, map[corev1.PodConditionType]string{
			"Ready": "False PodFailed", "ContainersReady": "False PodFailed", "Initialized": "True ", "PodReadyToStartContainers": "False "}, "Failed"},
		"overdue": {[]Container{ended(main, 0)}, Facts{Initialized: true, FailReason: "DeadlineExceeded"}, nil, map[corev1.PodConditionType]string{
			"Ready": "False PodFailed", "ContainersReady": "False PodFailed", "Initialized": "True ", "PodReadyToStartContainers": "False "}, "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want[corev1.PodScheduled] = "True "
			old := &corev1.PodStatus{Conditions: append([]corev1.PodCondition{scheduled}, tc.foreign...)}
			s := Status(pod, old, tc.containers, tc.facts, metav1.NewTime(now))
			if diff := cmp.Diff(tc.want, conditionsOf(s)); diff != "" {
				t.Error(diff)
			}
			if s.Phase != tc.phase || s.ObservedGeneration != 3 {
				t.Errorf("phase %s, generation %d", s.Phase, s.ObservedGeneration)
			}
			if !s.Conditions[0].LastTransitionTime.Equal(&scheduled.LastTransitionTime) {
				t.Error("a foreign condition was touched")
			}
			again := Status(pod, &s, tc.containers, tc.facts, metav1.NewTime(now.Add(time.Hour)))
			if diff := cmp.Diff(s, again); diff != "" {
				t.Errorf("nothing changed, but the status did: %s", diff)
			}
		})
	}
	s := Status(pod, &corev1.PodStatus{}, []Container{up(fresh(Sidecar, always)), up(main)}, facts, metav1.NewTime(now))
	if s.PodIP != "10.1.1.2" || len(s.PodIPs) != 2 || s.HostIP != "172.30.1.1" || len(s.InitContainerStatuses) != 1 || len(s.ContainerStatuses) != 1 ||
		!*s.InitContainerStatuses[0].Started || !s.ContainerStatuses[0].Ready {
		t.Errorf("got %+v", s)
	}
}
