package bed

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// AgentMemory returns the memory of a cluster's agent, in bytes.
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
type Metrics model.Vector

// AgentMetrics returns the metrics of a cluster's agent after two garbage collections, because
// a sync.Pool is emptied only by the second.
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

// ParseMetrics parses Prometheus's text format up to the first unknown line.
func ParseMetrics(text string) (all Metrics) {
	decoder := expfmt.SampleDecoder{
		Dec: expfmt.NewDecoder(strings.NewReader(text), expfmt.NewFormat(expfmt.TypeTextPlain)), Opts: &expfmt.DecodeOptions{},
	}
	for {
		var some model.Vector
		if err := decoder.Decode(&some); err != nil {
			return all
		}
		all = append(all, some...)
	}
}

// Sum adds the samples of a metric with these labels, given as key, value, …
func (m Metrics) Sum(name string, labels ...string) (sum float64) {
	want := model.Metric{model.MetricNameLabel: model.LabelValue(name)}
	for pair := range slices.Chunk(labels, 2) {
		want[model.LabelName(pair[0])] = model.LabelValue(pair[1])
	}
	for _, s := range m {
		both := maps.Clone(s.Metric)
		maps.Copy(both, want)
		if both.Equal(s.Metric) {
			sum += float64(s.Value)
		}
	}
	return sum
}
