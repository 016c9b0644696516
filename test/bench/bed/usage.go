package bed

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/atoll-mcs/atoll/lab/process"
)

// Usage is what a process has used.
type Usage struct {
	// CPU is its time on processors since it began.
	CPU time.Duration
	// Memory is its proportional share of memory, in bytes.
	Memory int64
}

// Usage returns what a unit of the lab, as broker/apiserver, has used.
func (b *Bed) Usage(unit string) (Usage, error) {
	units, err := b.Lab.Status()
	if err != nil {
		return Usage{}, err
	}
	for _, u := range units {
		if u.String() != unit {
			continue
		}
		if !u.Running {
			return Usage{}, fmt.Errorf("%s does not run", unit)
		}
		cpu, err := process.Record{PID: u.PID}.CPU()
		return Usage{CPU: cpu, Memory: u.Memory}, err
	}
	return Usage{}, fmt.Errorf("there is no unit %s", unit)
}

// Metrics are the samples of a program's /metrics.
type Metrics []Sample

// Sample is one line of metrics.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// ServerMetrics returns the metrics of a cluster's API server.
func (b *Bed) ServerMetrics(ctx context.Context, cluster string) (Metrics, error) {
	text, err := b.fromServer(ctx, cluster, "/metrics")
	return ParseMetrics(string(text)), err
}

// ServerHeap returns what a cluster's API server has in memory after garbage collections, in
// bytes.
func (b *Bed) ServerHeap(ctx context.Context, cluster string) (float64, error) {
	for range 2 {
		if _, err := b.fromServer(ctx, cluster, "/debug/pprof/heap", "gc"); err != nil {
			return 0, err
		}
	}
	metrics, err := b.ServerMetrics(ctx, cluster)
	return metrics.Sum("go_memstats_heap_alloc_bytes"), err
}

// fromServer gets something that is no resource from a cluster's API server. The parameters are set to 1.
func (b *Bed) fromServer(ctx context.Context, cluster, path string, parameters ...string) ([]byte, error) {
	config, err := b.Lab.RESTConfig(cluster)
	if err != nil {
		return nil, err
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", cluster, err)
	}
	request := c.Discovery().RESTClient().Get().AbsPath(path)
	for _, p := range parameters {
		request = request.Param(p, "1")
	}
	data, err := request.DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("getting %s from the API server of %s: %w", path, cluster, err)
	}
	return data, nil
}

// AgentMetrics returns the metrics of a cluster's agent, after garbage collections: what is in
// a sync.Pool goes with the second only.
func (b *Bed) AgentMetrics(ctx context.Context, cluster string) (Metrics, error) {
	for range 2 {
		if _, err := get(ctx, "http://"+b.addresses[cluster].profiles+"/debug/pprof/heap?gc=1"); err != nil {
			return nil, err
		}
	}
	text, err := get(ctx, "http://"+b.addresses[cluster].metrics+"/metrics")
	return ParseMetrics(string(text)), err
}

func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("getting %s: %s", address, response.Status)
	}
	return data, err
}

var (
	metricLine  = regexp.MustCompile(`(?m)^([\w:]+)(?:\{(.*)\})? (\S+)$`)
	metricLabel = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	unescape    = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n")
)

// ParseMetrics reads Prometheus's text format. It leaves out lines that it does not understand.
func ParseMetrics(text string) Metrics {
	var all Metrics
	for _, line := range metricLine.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			continue
		}
		labels := map[string]string{}
		for _, label := range metricLabel.FindAllStringSubmatch(line[2], -1) {
			labels[label[1]] = unescape.Replace(label[2])
		}
		all = append(all, Sample{Name: line[1], Labels: labels, Value: value})
	}
	return all
}

// Sum adds up the samples of a name that have these labels, given as key, value, …
func (m Metrics) Sum(name string, labels ...string) float64 {
	var sum float64
next:
	for _, s := range m {
		if s.Name != name {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			if s.Labels[labels[i]] != labels[i+1] {
				continue next
			}
		}
		sum += s.Value
	}
	return sum
}
