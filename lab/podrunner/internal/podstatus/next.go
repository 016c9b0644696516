package podstatus

import "time"

const (
	// firstBackoff and maxBackoff bound how long a container that keeps ending
	// waits before it is started again. The kubelet waits 10 s to 5 min; in a
	// lab somebody is waiting.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// calmTime is how long a container has to run to be forgiven, in the same
	// relation to the longest wait as the kubelet's 10 minutes.
	calmTime = 2 * maxBackoff
)

// Backoff returns how long after its end a container may start again, and how
// many ends in a row that makes, given how many there were before and how long
// it ran. The first restart comes at once.
func Backoff(before int, ran time.Duration) (wait time.Duration, ends int) {
	if ran >= calmTime {
		before = 0
	}
	if before == 0 {
		return 0, 1
	}
	return min(firstBackoff<<min(before-1, 10), maxBackoff), before + 1
}

// Step is what to do next with a Pod's containers, by their index.
type Step struct {
	// Start now.
	Start []int
	// Delay are to be started, but not before the time of each.
	Delay []int
	// Stop, because the containers that they accompany have ended.
	Stop []int
	// Initialized tells that Main containers may run.
	Initialized bool
	// Finished tells that nothing runs and nothing will.
	Finished bool
}

// Next decides what to do. initialized is the Initialized of the step before.
func Next(containers []Container, initialized bool, now time.Time) Step {
	step := Step{Initialized: initialized}
	if over, _ := outcome(containers); over {
		step.Finished = true
		for i := range containers {
			if containers[i].Running() {
				step.Finished = false
				if containers[i].Kind != Main {
					step.Stop = append(step.Stop, i)
				}
			}
		}
		return step
	}
	start := func(i int) {
		if containers[i].NotBefore.After(now) {
			step.Delay = append(step.Delay, i)
		} else {
			step.Start = append(step.Start, i)
		}
	}
	waiting := false // for an Init or Sidecar container, before what comes after it
	for i := range containers {
		switch c := &containers[i]; {
		case c.Kind == Ephemeral:
			if !c.Running() && c.exit() == nil {
				start(i)
			}
		case c.Kind == Init && initialized || waiting:
			// over, or not yet its turn
		case c.Kind == Init:
			// State only: one that is to run again has an old end in Last.
			if done := c.State.Terminated; done != nil && done.ExitCode == 0 {
				continue
			}
			waiting = true
			if !c.Running() {
				start(i)
			}
		case c.Kind == Sidecar:
			waiting = !initialized && !(c.Running() && c.Started)
			if !c.Running() {
				start(i)
			}
		default:
			step.Initialized = true
			if !c.Running() && !c.finished() {
				start(i)
			}
		}
	}
	return step
}
