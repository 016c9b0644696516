package cases

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// costNamespace has the plain Service of the cluster's own.
const costNamespace = "plain"

// localCost is what a cluster's own things need.
type localCost struct {
	proxyMemory, dnsMemory float64 // MiB
	syncs                  []time.Duration
	requests               []time.Duration
}

// cost measures what a cluster's own proxy, DNS and Services are like without imported
// endpoints, and with many.
func cost(ctx context.Context, r *Run, c *figure.Case) error {
	target, err := r.plainService(ctx)
	if err != nil {
		return err
	}
	r.Say("cost: without imports")
	without, err := r.localCost(ctx, target)
	if err != nil {
		return err
	}
	if err := r.populate(ctx); err != nil {
		return err
	}
	began := time.Now()
	observers, err := r.imported(ctx, exporter)
	if err != nil {
		return err
	}
	endpoints := 0
	for _, o := range observers {
		endpoints += len(o.Addresses())
	}
	imported := time.Since(began)
	programmed, err := r.programmed(ctx)
	if err != nil {
		return err
	}
	r.Say("cost: with %d endpoints", endpoints)
	with, err := r.localCost(ctx, target)
	if err != nil {
		return err
	}
	programming, arrival, err := r.programming(ctx)
	if err != nil {
		return err
	}
	beside := func(name, unit string, a, b []time.Duration) figure.Figure {
		return figure.Times(name, unit, b).OnFloor(figure.Times("", unit, a))
	}
	c.Notes = append(c.Notes,
		fmt.Sprintf("the floor is the same cluster without imports; then %d endpoints of %d services were imported", endpoints, len(r.fleet.services)),
		fmt.Sprintf("they were there %.1f s after their namespaces, and kube-proxy was done with them %.1f s after that", imported.Seconds(), programmed.Seconds()))
	c.Add(
		beside("kube-proxy's sync when a plain Service changes", figure.Milliseconds, without.syncs, with.syncs),
		figure.New("kube-proxy's memory", figure.MiB, with.proxyMemory).OnFloor(figure.New("", figure.MiB, without.proxyMemory)),
		figure.New("stock CoreDNS's memory", figure.MiB, with.dnsMemory).OnFloor(figure.New("", figure.MiB, without.dnsMemory)),
		beside("a request to the plain Service, over a new connection", figure.Milliseconds, without.requests, with.requests),
		programming.OnFloor(arrival).
			Because("by kube-proxy's own metric, from the trigger time in the source slice; the floor is until the change is in the cluster's slices, by a watch"),
	)
	return nil
}

// node is the one of the measured cluster.
func (r *Run) node() lab.Node { return r.Bed.Lab.Spec.Clusters[0].Nodes[0] }

// onNode is a client as on the node: each request gets a connection of its own.
func (r *Run) onNode() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: r.node().Namespace.DialContext, DisableKeepAlives: true}, Timeout: time.Minute}
}

func (r *Run) metricsAt(ctx context.Context, url string) (bed.Metrics, error) {
	text, err := fetch(ctx, r.onNode(), url)
	return bed.ParseMetrics(text), err
}

func fetch(ctx context.Context, c *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("getting %s: %s", url, response.Status)
	}
	return string(text), err
}

// plainService makes a Service with a pod that has nothing to do with other clusters, and
// returns its URL when it answers.
func (r *Run) plainService(ctx context.Context) (string, error) {
	c := r.Bed.On[exporter]
	if err := r.Bed.Namespace(ctx, costNamespace, exporter); err != nil {
		return "", err
	}
	labels := map[string]string{"app": "plain"}
	one := int32(1)
	meta := metav1.ObjectMeta{Namespace: costNamespace, Name: "plain"}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	for _, o := range []client.Object{service, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "atoll.dev/lab/echo", Args: []string{"--http", ":8080"}}}},
		},
	}}} {
		if err := c.Create(ctx, o); err != nil {
			return "", fmt.Errorf("making the plain Service: %w", err)
		}
	}
	url := "http://" + service.Spec.ClusterIP + "/"
	for {
		_, err := fetch(ctx, r.onNode(), url)
		if err == nil {
			return url, nil
		}
		if paused := bed.Pause(ctx, 200*time.Millisecond); paused != nil {
			return "", fmt.Errorf("waiting for the plain Service: %w", err)
		}
	}
}

const (
	proxyMetrics = "http://127.0.0.1:10249/metrics"
	syncSum      = "kubeproxy_sync_proxy_rules_duration_seconds_sum"
	syncCount    = "kubeproxy_sync_proxy_rules_duration_seconds_count"
)

// localCost measures the proxy, the DNS and requests.
func (r *Run) localCost(ctx context.Context, target string) (localCost, error) {
	var found localCost
	const changes, requests = 10, 300
	for i := range changes {
		took, err := r.syncOf(ctx, i)
		if err != nil {
			return found, err
		}
		found.syncs = append(found.syncs, took)
	}
	c := r.onNode()
	for range requests {
		began := time.Now()
		if _, err := fetch(ctx, c, target); err != nil {
			return found, fmt.Errorf("a request to the plain Service: %w", err)
		}
		found.requests = append(found.requests, time.Since(began))
	}
	units, err := r.Bed.Lab.Status()
	if err != nil {
		return found, err
	}
	for _, u := range units {
		if u.Cluster == exporter && strings.HasPrefix(u.Name, "kube-proxy") {
			found.proxyMemory += float64(u.Memory) / mib
		}
	}
	dns, err := r.metricsAt(ctx, fmt.Sprintf("http://%s:9153/metrics", r.Bed.Lab.Spec.Clusters[0].DNS[0]))
	found.dnsMemory = dns.Sum("process_resident_memory_bytes") / mib
	return found, err
}

// syncOf makes a Service, and returns how long kube-proxy's sync for it took.
func (r *Run) syncOf(ctx context.Context, number int) (time.Duration, error) {
	before, err := r.metricsAt(ctx, proxyMetrics)
	if err != nil {
		return 0, err
	}
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: costNamespace, GenerateName: fmt.Sprintf("probe-%d-", number)},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := r.Bed.On[exporter].Create(ctx, s); err != nil {
		return 0, err
	}
	return r.grownBy(ctx, before, syncSum, syncCount)
}

// programmed returns when kube-proxy has no more to do, and how long that took.
func (r *Run) programmed(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	for {
		m, err := r.metricsAt(ctx, proxyMetrics)
		if err != nil {
			return 0, err
		}
		if m.Sum("kubeproxy_sync_proxy_rules_endpoint_changes_pending") == 0 && m.Sum("kubeproxy_sync_proxy_rules_service_changes_pending") == 0 {
			return time.Since(began), nil
		}
		if err := bed.Pause(ctx, 200*time.Millisecond); err != nil {
			return 0, fmt.Errorf("waiting for kube-proxy: %w", err)
		}
	}
}

// programming changes imported endpoints, and returns kube-proxy's own word for how long it
// took until they were in effect, and when they were in the cluster's slices.
func (r *Run) programming(ctx context.Context) (proxy, arrival figure.Figure, err error) {
	const changes = 10
	const sum, count = "kubeproxy_network_programming_duration_seconds_sum", "kubeproxy_network_programming_duration_seconds_count"
	var own, arrivals []time.Duration
	for i := range changes {
		s, m := r.fleet.services[i], r.fleet.members[i]
		o, err := bed.Observe(ctx, r.Bed.On[exporter], s.Namespace)
		if err != nil {
			return proxy, arrival, err
		}
		slice := &discoveryv1.EndpointSlice{}
		if err := m.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Slices()[0].Name}, slice); err != nil {
			return proxy, arrival, err
		}
		before, err := r.metricsAt(ctx, proxyMetrics)
		if err != nil {
			return proxy, arrival, err
		}
		began := time.Now()
		slice.Endpoints[0] = bed.Endpoint(s.Namespace, freshAddresses+1000000+i)
		metav1.SetMetaDataAnnotation(&slice.ObjectMeta, names.AnnotationLastChangeTriggerTime, began.UTC().Format(time.RFC3339Nano))
		if err := m.Client.Update(ctx, slice); err != nil {
			return proxy, arrival, err
		}
		at, err := o.Await(ctx, bed.Appeared(slice.Endpoints[0].Addresses[0]))
		if err != nil {
			return proxy, arrival, err
		}
		arrivals = append(arrivals, at.Sub(began))
		took, err := r.grownBy(ctx, before, sum, count)
		if err != nil {
			return proxy, arrival, err
		}
		own = append(own, took)
	}
	const name = "until an imported endpoint's change is in effect"
	return figure.Times(name, figure.Milliseconds, own), figure.Times(name, figure.Milliseconds, arrivals), nil
}

// grownBy waits until a histogram of kube-proxy's has more than before, and returns the mean
// of that.
func (r *Run) grownBy(ctx context.Context, before bed.Metrics, sum, count string) (time.Duration, error) {
	for {
		after, err := r.metricsAt(ctx, proxyMetrics)
		if err != nil {
			return 0, err
		}
		if n := after.Sum(count) - before.Sum(count); n > 0 {
			return time.Duration((after.Sum(sum) - before.Sum(sum)) / n * float64(time.Second)), nil
		}
		if err := bed.Pause(ctx, 50*time.Millisecond); err != nil {
			return 0, fmt.Errorf("waiting for %s to grow: %w", count, err)
		}
	}
}
