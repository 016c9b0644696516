package survey

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/render"
)

// LeftOut is how much of one cluster's is not imported because there is more than this one takes.
type LeftOut struct {
	Services, Endpoints int
}

// metricLeftOut is the agents' metric about that (docs/metrics.md).
const metricLeftOut = "atoll_import_left_out"

// readLeftOut asks the agents, by way of the API server: their metrics are the only place where it is
// said as long as it is so. An agent that stands by has none.
func readLeftOut(ctx context.Context, config *rest.Config) (map[string]LeftOut, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	pods, err := kube.CoreV1().Pods(names.SystemNamespace).List(ctx, metav1.ListOptions{LabelSelector: render.LabelName + "=" + render.AgentName})
	if err != nil {
		return nil, fmt.Errorf("listing the agents: %w", err)
	}
	all := map[string]LeftOut{}
	for _, pod := range pods.Items {
		text, err := kube.CoreV1().RESTClient().Get().Namespace(pod.Namespace).Resource("pods").SubResource("proxy").
			Name(utilnet.JoinSchemeNamePort("http", pod.Name, metricsPort(pod.Spec))).Suffix("metrics").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the metrics of agent %s: %w", pod.Name, err)
		}
		for cluster, n := range parseLeftOut(string(text)) {
			have := all[cluster]
			all[cluster] = LeftOut{max(have.Services, n.Services), max(have.Endpoints, n.Endpoints)}
		}
	}
	return all, nil
}

// metricsPort is where a pod has its metrics.
func metricsPort(spec corev1.PodSpec) string {
	for _, c := range spec.Containers {
		for _, p := range c.Ports {
			if p.Name == "metrics" {
				return strconv.Itoa(int(p.ContainerPort))
			}
		}
	}
	return "8080"
}

// parseLeftOut reads lines such as atoll_import_left_out{of="services",source_cluster="c2"} 3.
func parseLeftOut(text string) map[string]LeftOut {
	all := map[string]LeftOut{}
	for line := range strings.Lines(text) {
		labels, ok := strings.CutPrefix(strings.TrimSpace(line), metricLeftOut+"{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(labels, "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		cluster, of := label(labels, "source_cluster"), all[label(labels, "source_cluster")]
		switch label(labels, "of") {
		case "services":
			of.Services = int(n)
		case "endpoints":
			of.Endpoints = int(n)
		}
		all[cluster] = of
	}
	return all
}

// label returns the value of one of a metric's labels. Those that are asked for have no quotes in them.
func label(labels, name string) string {
	for _, pair := range strings.Split(labels, ",") {
		if value, ok := strings.CutPrefix(pair, name+`="`); ok {
			return strings.TrimSuffix(value, `"`)
		}
	}
	return ""
}
