package check

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

// Proxy is what routes Services on a cluster's nodes.
type Proxy struct {
	// Name is the product's, and Detail its mode or version, or "".
	Name, Detail string
	// DaemonSet is "namespace/name", or "" if the proxy runs in another program. Ready of Desired nodes have a ready pod.
	DaemonSet      string
	Ready, Desired int32
	Standby        Standby
}

// Standby says how a proxy uses endpoints on standby (docs/explanation/which-endpoint-answers.md).
type Standby string

const (
	// FallsBack: at once if no endpoint is ready.
	FallsBack Standby = "endpoints on standby are used at once if no endpoint is ready"
	// IsTold: after the agent has written them as ready.
	IsTold Standby = "endpoints on standby are used after the agent has written them as ready"
	// Misused: like ready ones.
	Misused Standby = "endpoints on standby are used like ready endpoints"
)

// ProxyFacts show which node proxy a cluster has.
type ProxyFacts struct {
	DaemonSets []appsv1.DaemonSet
	// Config returns the data of a ConfigMap, or nil.
	Config func(namespace, name string) map[string]string
	// CalicoBPF is set if Calico's FelixConfiguration enables the eBPF dataplane.
	CalicoBPF bool
	// Kubelet is a node's version of Kubernetes: some distributions have kube-proxy in their own program.
	Kubelet string
}

// proxies are the known ones in the order in which they replace each other: kube-proxy may still run beside its replacement.
var proxies = []struct {
	product    string
	daemonSets []string
	is         func(d *appsv1.DaemonSet, facts ProxyFacts) (detail string, standby Standby, found bool)
}{
	{"Cilium", []string{"cilium"}, func(d *appsv1.DaemonSet, facts ProxyFacts) (string, Standby, bool) {
		replaces := facts.Config(d.Namespace, "cilium-config")["kube-proxy-replacement"]
		version := survey.Image(d.Spec.Template.Spec)
		major, minor, known := versionOf(version)
		standby := FallsBack
		if known && major == 1 && minor < 18 {
			standby = IsTold
		}
		return version, standby, replaces == "true" || replaces == "strict"
	}},
	{"kube-router", []string{"kube-router"}, func(d *appsv1.DaemonSet, _ ProxyFacts) (string, Standby, bool) {
		return survey.Image(d.Spec.Template.Spec), Misused, !hasArg(d, "--run-service-proxy=false")
	}},
	{"Antrea", []string{"antrea-agent"}, func(d *appsv1.DaemonSet, facts ProxyFacts) (string, Standby, bool) {
		return survey.Image(d.Spec.Template.Spec), FallsBack, regexp.MustCompile(`(?m)^\s*proxyAll:\s*true\b`).MatchString(facts.Config(d.Namespace, "antrea-config")["antrea-agent.conf"])
	}},
	{"OVN-Kubernetes", []string{"ovnkube-node", "ovnkube-node-single-node-zone"}, func(d *appsv1.DaemonSet, _ ProxyFacts) (string, Standby, bool) {
		return survey.Image(d.Spec.Template.Spec), FallsBack, true
	}},
	{"Calico's eBPF dataplane", []string{"calico-node"}, func(d *appsv1.DaemonSet, facts ProxyFacts) (string, Standby, bool) {
		return survey.Image(d.Spec.Template.Spec), IsTold, facts.CalicoBPF || env(d, "FELIX_BPFENABLED") == "true"
	}},
	{"kube-proxy", []string{"kube-proxy"}, func(d *appsv1.DaemonSet, facts ProxyFacts) (string, Standby, bool) {
		mode := "iptables" // the default on Linux
		if set := regexp.MustCompile(`(?m)^[ \t]*mode:[ \t]*"?(\w+)`).FindStringSubmatch(facts.Config(d.Namespace, "kube-proxy")["config.conf"]); set != nil {
			mode = set[1]
		}
		return "mode " + mode, FallsBack, true
	}},
}

// ProxyOf returns the node proxy, or nil if it is not known.
func ProxyOf(facts ProxyFacts) *Proxy {
	for _, p := range proxies {
		for i := range facts.DaemonSets {
			d := &facts.DaemonSets[i]
			if !slices.Contains(p.daemonSets, d.Name) {
				continue
			}
			if detail, standby, found := p.is(d, facts); found {
				return &Proxy{
					Name: p.product, Detail: detail, Standby: standby,
					DaemonSet: d.Namespace + "/" + d.Name, Ready: d.Status.NumberReady, Desired: d.Status.DesiredNumberScheduled,
				}
			}
		}
	}
	for _, distribution := range []string{"k3s", "rke2"} {
		if strings.Contains(facts.Kubelet, "+"+distribution) {
			return &Proxy{Name: "kube-proxy of " + distribution, Detail: facts.Kubelet, Standby: FallsBack}
		}
	}
	return nil
}

// nodeProxy says what routes Services, and which of Atoll's features work with it.
func (ch *checker) nodeProxy() {
	p := ch.cluster.Proxy
	if p == nil {
		ch.skip(NodeProxy, "no known node proxy was found; another component may be routing Services. Check %s tests the routing of Services", Routing)
		return
	}
	name := p.Name
	if p.Detail != "" {
		name += " (" + p.Detail + ")"
	}
	switch {
	case p.Standby == Misused && !ch.cluster.OmitsStandby:
		ch.say(NodeProxy, Warning, "Set the agent's flag: "+ch.cluster.On.Atoll("join FILE --agent-arg=--omit-standby-endpoints"),
			"%s: %s, so preferences, weights and drains have no effect", name, p.Standby)
	case p.DaemonSet != "" && p.Ready < p.Desired:
		namespace, daemonSet, _ := strings.Cut(p.DaemonSet, "/")
		ch.say(NodeProxy, Warning, ch.cluster.On.Kubectl("describe daemonset %s -n %s", daemonSet, namespace),
			"%s is ready on %d of %d nodes: pods on the other nodes may not reach Services", name, p.Ready, p.Desired)
	case p.Standby == Misused:
		ch.ok(NodeProxy, "%s: the agent writes no endpoints on standby (--omit-standby-endpoints)", name)
	default:
		ch.ok(NodeProxy, "%s: %s", name, p.Standby)
	}
}

// versionOf returns the version in an image's tag.
func versionOf(image string) (major, minor int, found bool) {
	match := regexp.MustCompile(`:v?(\d+)\.(\d+)`).FindStringSubmatch(image)
	if match == nil {
		return 0, 0, false
	}
	major, errMajor := strconv.Atoi(match[1])
	minor, errMinor := strconv.Atoi(match[2])
	return major, minor, cmp.Or(errMajor, errMinor) == nil
}

func hasArg(d *appsv1.DaemonSet, arg string) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		if slices.Contains(c.Command, arg) || slices.Contains(c.Args, arg) {
			return true
		}
	}
	return false
}

func env(d *appsv1.DaemonSet, name string) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == name {
				return e.Value
			}
		}
	}
	return ""
}
