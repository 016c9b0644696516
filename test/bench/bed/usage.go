package bed

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// AgentMemory returns a cluster's agent's share of the machine's memory, in bytes.
func (b *Bed) AgentMemory(cluster string) (int64, error) {
	units, err := b.Lab.Status()
	if err != nil {
		return 0, err
	}
	for _, u := range units {
		if u.String() == cluster+"/"+agentUnit && u.Running {
			return u.Memory, nil
		}
	}
	return 0, fmt.Errorf("the agent of %s does not run", cluster)
}

// Metrics are the samples of a program's /metrics.
type Metrics []Sample

// Sample is one line of metrics.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
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
