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
		ch.skip(KubeProxy, "kube-proxy was not found in kube-system; another component may be routing Services. %s tests whether that works", Routing)
	case d.Ready < d.Wanted:
		ch.say(KubeProxy, Warning, c.On.Kubectl("describe pods -n kube-system -l k8s-app=kube-proxy"), "ready on %d of %d nodes: pods on the others may not reach Services", d.Ready, d.Wanted)
	default:
		ch.ok(KubeProxy, "%d nodes, %s", d.Ready, d.Image)
	}
	if found := overlaps(c.Pods, c.Services); len(found) > 0 {
		ch.say(PodRanges, Error, "Change the cluster's address ranges. Atoll cannot work with these.", "pods and Services: %s", list(found))
	} else if len(c.Pods) == 0 || len(c.Services) == 0 {
		ch.skip(PodRanges, "the address ranges are unknown: set the pod ranges with the agent's flag --pod-cidr. Service ranges can be read with Kubernetes 1.33 or later")
	} else {
		ch.ok(PodRanges, "pods %s, Services %s", list(c.Pods), list(c.Services))
	}
}

func (ch *checker) pods() {
	c := ch.cluster
	switch {
	case ch.evidence.NoPods:
		ch.skip(PodsRun, "--no-pods was given")
	case c.Listener == nil || c.Seen == nil:
		ch.say(PodsRun, Warning, "Checks that need a pod were skipped. If the image has another name, add --probe-image IMAGE. If you lack the permission to create namespaces and pods, ask an administrator.", "%v", c.Outpost)
	case !anyone(c.reached("tcp", 0, c.Listener.Pod)):
		ch.say(PodsRun, Error, "The cluster's network is broken, or a NetworkPolicy separates pods. Look at its network plugin.", "a pod cannot reach another one on %s: %s", c.Listener.Node, firstError(c.reached("tcp", 0, c.Listener.Pod)))
	default:
		ch.ok(PodsRun, "from %s", c.Listener.Node)
	}
}

// routing checks a Service like an import's: without selector, and with EndpointSlices that the built-in controller
// does not manage.
func (ch *checker) routing() {
	c := ch.cluster
	if c.Listener == nil || c.Seen == nil {
		ch.skip(Routing, "no pod could be run in the cluster: see %s", PodsRun)
		return
	}
	if reached := c.reached("tcp", 0, c.Listener.Routed); !everyone(reached) {
		ch.say(Routing, Error, "Look at kube-proxy or its replacement: it must route Services without selector by EndpointSlices that other controllers write.",
			"a Service without selector does not reach its endpoint: %s", firstError(reached))
		return
	}
	ch.ok(Routing, "%s", list(c.Listener.Routed))
}

func anyone(of []probe.Reached) bool {
	return slices.ContainsFunc(of, func(r probe.Reached) bool { return len(r.By) > 0 })
}

// everyone reports whether all connections succeeded and there was at least one.
func everyone(of []probe.Reached) bool {
	return len(of) > 0 && !slices.ContainsFunc(of, func(r probe.Reached) bool { return len(r.By) == 0 })
}

func firstError(of []probe.Reached) string {
	for _, r := range of {
		if len(r.By) == 0 {
			return r.Error
		}
	}
	return "not tested"
}

// overlaps lists the pairs of overlapping ranges.
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
