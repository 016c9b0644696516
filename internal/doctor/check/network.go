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
	ch.nodeProxy()
	if found := overlaps(c.Pods, c.Services); len(found) > 0 {
		ch.say(PodRanges, Error, "Change the cluster's address ranges. Atoll does not work if the pod CIDR and the Service CIDR overlap.", "the pod CIDR and the Service CIDR overlap: %s", list(found))
	} else if len(c.Pods) == 0 || len(c.Services) == 0 {
		ch.skip(PodRanges, "the address ranges are unknown: set the pod CIDR with the agent's flag --pod-cidr, and before Kubernetes 1.33 the Service CIDR with the flag --service-cidr")
	} else {
		ch.ok(PodRanges, "pod CIDR %s, Service CIDR %s", list(c.Pods), list(c.Services))
	}
	ch.serviceRanges()
	ch.podAddresses()
}

func (ch *checker) pods() {
	c := ch.cluster
	switch {
	case ch.evidence.NoPods:
		ch.skip(PodsRun, "--no-pods is set")
	case (c.Listener == nil || c.Seen == nil) && ch.evidence.Image != "":
		ch.say(PodsRun, Error, "Atoll's pods would not start either. If the image is not in the registry: make push REGISTRY=…. If the image is in the registry, give the nodes credentials for the registry.", "the image %s: %v", ch.evidence.Image, c.Outpost)
	case c.Listener == nil || c.Seen == nil:
		ch.say(PodsRun, Warning, "Checks that need test pods were skipped. If the image of the test pods has a different name, set --probe-image IMAGE. If you lack the permission to create namespaces and pods, ask an administrator.", "%v", c.Outpost)
	case !anyone(c.reached("tcp", 0, c.Listener.Pod)):
		ch.say(PodsRun, Error, "The cluster's network is broken, or a NetworkPolicy separates pods. Check the cluster's network plugin.", "a pod cannot reach another pod on node %s: %s", c.Listener.Node, firstError(c.reached("tcp", 0, c.Listener.Pod)))
	default:
		ch.ok(PodsRun, "tested on node %s", c.Listener.Node)
	}
}

// routing checks a Service like an import's: without selector, and with EndpointSlices that the built-in controller
// does not manage.
func (ch *checker) routing() {
	c := ch.cluster
	if c.Listener == nil || c.Seen == nil {
		ch.skip(Routing, "no test pod could run in the cluster: see check %s", PodsRun)
		return
	}
	if reached := c.reached("tcp", 0, c.Listener.Routed); !everyone(reached) {
		ch.say(Routing, Error, "Check kube-proxy or its replacement. It must route Services without selectors to the endpoints in EndpointSlices that other controllers write.",
			"traffic to a Service without selectors does not reach its endpoint: %s", firstError(reached))
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
