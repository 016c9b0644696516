package scenario

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// reportTimeout bounds the look at the clusters after a failure.
const reportTimeout = 30 * time.Second

// report logs what the clusters hold for the scenario's namespaces.
func (r *Run) report(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	for _, cluster := range r.lab.Shape().names() {
		for _, namespace := range slices.Sorted(maps.Keys(r.namespaces)) {
			r.show(ctx, cluster, "get", "pods,services", "-n", namespace, "-o", "wide")
			r.showLogs(ctx, cluster, namespace)
			r.show(ctx, cluster, "get", "endpointslices", "-n", namespace, "--show-labels")
			r.show(ctx, cluster, "get", "endpointslices", "-n", namespace, "-o", whoFor)
			if !r.script.Shape.Bare {
				r.show(ctx, cluster, "get", "serviceexports,serviceimports", "-n", namespace, "-o", "yaml")
			}
			r.show(ctx, cluster, "get", "events", "-n", namespace, "--field-selector", "type!=Normal")
			r.showRules(ctx, cluster, namespace)
		}
	}
	if !r.script.Shape.Bare {
		r.show(ctx, Broker, "get", "membercluster,exportedservices,serviceimports,endpointslices", "-A", "--show-labels")
	}
}

// whoFor prints how often slices have been written, where endpoints are, and for whom, which decides whose they are in each kube-proxy.
const whoFor = `jsonpath={range .items[*]}{.metadata.name} generation {.metadata.generation}: {range .endpoints[*]}{.addresses[0]} {.conditions} of {.zone} for {.hints}; {end}{"\n"}{end}`

// notReady prints the names of pods of which a container is not ready.
const notReady = `jsonpath={range .items[?(@.status.containerStatuses[*].ready==false)]}{.metadata.name}{"\n"}{end}`

// showLogs logs what containers said that do not work.
func (r *Run) showLogs(ctx context.Context, cluster, namespace string) {
	pods := r.kubectl(ctx, cluster, "get", "pods", "-n", namespace, "-o", notReady, "--request-timeout=5s")
	for pod := range strings.FieldsSeq(pods.Stdout) {
		r.show(ctx, cluster, "logs", pod, "-n", namespace, "--all-containers", "--tail=20")
	}
}

// showRules logs where kube-proxy sends the connections of a namespace's services on the cluster's first node, and which connections nobody has answered.
func (r *Run) showRules(ctx context.Context, cluster, namespace string) {
	const script = `nft list ruleset | grep -F -A6 -e "-$1/"; grep SYN_SENT /proc/net/nf_conntrack 2>/dev/null`
	if text := strings.TrimSpace(r.do(ctx, cluster, Command{Program: "sh", Args: []string{"-c", script, "sh", namespace}}).Stdout); text != "" {
		r.logf("%s: rules of kube-proxy, and connections without answer\n%s", cluster, indent(text))
	}
}

// show logs one listing; an empty one says nothing.
func (r *Run) show(ctx context.Context, cluster string, args ...string) {
	quick := append(slices.Clone(args), "--request-timeout=5s") // it may be killed or cut off
	text := strings.TrimSpace(r.kubectl(ctx, cluster, quick...).text())
	if text == "" || strings.HasPrefix(text, "No resources found") || strings.Contains(text, "\nitems: []\n") {
		return
	}
	r.logf("%s: kubectl %s\n%s", cluster, strings.Join(args, " "), indent(text))
}
