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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
)

// costNamespace has the plain Service of the cluster's own.
const costNamespace = "plain"

// subject is a cluster whose own proxy, DNS and Services are measured.
type subject struct {
	bed     *bed.Bed
	cluster *lab.Cluster
}

func (r *Run) subject(cluster string) (subject, error) {
	c, err := r.Bed.Lab.Spec.Cluster(cluster)
	return subject{r.Bed, c}, err
}

// node is a client as on the cluster's node: each request gets a connection of its own.
func (p subject) node() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.cluster.Nodes[0].Namespace.DialContext, DisableKeepAlives: true}, Timeout: time.Minute}
}

func (p subject) client() client.WithWatch { return p.bed.On[p.cluster.Name] }

func (p subject) metricsAt(ctx context.Context, url string) (bed.Metrics, error) {
	text, err := fetch(ctx, p.node(), url)
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
func (p subject) plainService(ctx context.Context) (string, error) {
	c := p.client()
	if err := p.bed.Namespace(ctx, costNamespace, p.cluster.Name); err != nil {
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
		_, err := fetch(ctx, p.node(), url)
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

// cost measures the proxy, the DNS and requests.
func (p subject) cost(ctx context.Context, target string) (localCost, error) {
	var found localCost
	const changes, requests = 10, 300
	for i := range changes {
		took, err := p.syncOf(ctx, i)
		if err != nil {
			return found, err
		}
		found.syncs = append(found.syncs, took)
	}
	c := p.node()
	for range requests {
		began := time.Now()
		if _, err := fetch(ctx, c, target); err != nil {
			return found, fmt.Errorf("a request to the plain Service: %w", err)
		}
		found.requests = append(found.requests, time.Since(began))
	}
	units, err := p.bed.Lab.Status()
	if err != nil {
		return found, err
	}
	for _, u := range units {
		if u.Cluster == p.cluster.Name && strings.HasPrefix(u.Name, "kube-proxy") {
			found.proxyMemory += float64(u.Memory) / mib
		}
	}
	dns, err := p.metricsAt(ctx, fmt.Sprintf("http://%s:9153/metrics", p.cluster.DNS[0]))
	found.dnsMemory = dns.Sum("process_resident_memory_bytes") / mib
	return found, err
}

// syncOf makes a Service, and returns how long kube-proxy's sync for it took.
func (p subject) syncOf(ctx context.Context, number int) (time.Duration, error) {
	before, err := p.metricsAt(ctx, proxyMetrics)
	if err != nil {
		return 0, err
	}
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: costNamespace, GenerateName: fmt.Sprintf("probe-%d-", number)},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := p.client().Create(ctx, s); err != nil {
		return 0, err
	}
	return p.grownBy(ctx, before, syncSum, syncCount)
}

// programmed returns when kube-proxy has no more to do, and how long that took.
func (p subject) programmed(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	for {
		m, err := p.metricsAt(ctx, proxyMetrics)
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

// grownBy waits until a histogram of kube-proxy's has more than before, and returns the mean
// of that.
func (p subject) grownBy(ctx context.Context, before bed.Metrics, sum, count string) (time.Duration, error) {
	for {
		after, err := p.metricsAt(ctx, proxyMetrics)
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
