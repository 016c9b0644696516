package check

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
)

func (ch *checker) network() {
	c := ch.cluster
	ch.pods()
	ch.routing()
	switch d := c.KubeProxy; {
	case d == nil:
		ch.skip(KubeProxy, "there is no DaemonSet kube-proxy in kube-system: something else routes Services, or it is no pod here. %s says whether it works", Routing)
	case d.Ready < d.Wanted:
		ch.say(KubeProxy, Warning, "kubectl"+ch.on()+" -n kube-system describe pods -l k8s-app=kube-proxy", "on %d of %d nodes: pods on the others may not reach Services", d.Ready, d.Wanted)
	default:
		ch.ok(KubeProxy, "%d nodes, %s", d.Ready, d.Image)
	}
	if found := overlaps(c.Pods, c.Services); len(found) > 0 {
		ch.say(PodRanges, Error, "give the cluster other ranges: this one can't work as it is", "of pods and of Services: %s", list(found))
	} else if len(c.Pods) == 0 || len(c.Services) == 0 {
		ch.skip(PodRanges, "those of its pods are not known (--pod-cidr tells the agent), or those of its Services (before Kubernetes 1.33)")
	} else {
		ch.ok(PodRanges, "pods %s, Services %s", list(c.Pods), list(c.Services))
	}
}

func (ch *checker) pods() {
	c := ch.cluster
	switch {
	case ch.evidence.NoPods:
		ch.skip(PodsRun, "pods were not wanted (--no-pods)")
	case c.Listener == nil || c.Seen == nil:
		ch.say(PodsRun, Warning, "what needs a pod was not checked. If the image is elsewhere: --probe-image IMAGE. If you may not make namespaces and pods, ask somebody who may", "%v", c.Outpost)
	case !anyone(c.reached("tcp", 0, c.Listener.Pod)):
		ch.say(PodsRun, Error, "the cluster's own network is broken, or a policy keeps pods apart: look at its network plugin", "one pod does not reach another, on %s: %s", c.Listener.Node, firstError(c.reached("tcp", 0, c.Listener.Pod)))
	default:
		ch.ok(PodsRun, "from %s", c.Listener.Node)
	}
}

// routing is about a Service without selector whose EndpointSlices are not the built-in controller's:
// what an import is made of.
func (ch *checker) routing() {
	c := ch.cluster
	if c.Listener == nil || c.Seen == nil {
		ch.skip(Routing, "nothing could be run in the cluster, see %s", PodsRun)
		return
	}
	if reached := c.reached("tcp", 0, c.Listener.Routed); !everyone(reached) {
		ch.say(Routing, Error, "look at kube-proxy, or what takes its place: it has to route Services without selector by the EndpointSlices that others write",
			"a Service without selector does not lead to its endpoint: %s", firstError(reached))
		return
	}
	ch.ok(Routing, "%s", list(c.Listener.Routed))
}

func anyone(of []probe.Reached) bool {
	return slices.ContainsFunc(of, func(r probe.Reached) bool { return len(r.By) > 0 })
}

// everyone tells whether all were reached, of which there must be one.
func everyone(of []probe.Reached) bool {
	return len(of) > 0 && !slices.ContainsFunc(of, func(r probe.Reached) bool { return len(r.By) == 0 })
}

func firstError(of []probe.Reached) string {
	for _, r := range of {
		if len(r.By) == 0 {
			return r.Error
		}
	}
	return "it was not tried"
}

// overlaps lists the pairs of ranges that have addresses in common.
func overlaps(a, b []string) []string {
	var found []string
	for _, x := range a {
		for _, y := range b {
			px, errX := netip.ParsePrefix(x)
			py, errY := netip.ParsePrefix(y)
			if errX == nil && errY == nil && px.Overlaps(py) {
				found = append(found, x+" and "+y)
			}
		}
	}
	return found
}

func milliseconds(r probe.Reached) string { return fmt.Sprintf("%.1f ms", r.Milliseconds) }
