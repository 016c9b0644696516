package bed

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

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

// ProcessorTimes returns the processor time that each running unit has used, by its name.
func (b *Bed) ProcessorTimes() (map[string]time.Duration, error) {
	units, err := b.Lab.Status()
	if err != nil {
		return nil, err
	}
	all := map[string]time.Duration{}
	for _, u := range units {
		if u.Running {
			if all[u.String()], err = processorTime(u.PID); err != nil {
				return nil, fmt.Errorf("reading the processor time of %s: %w", u, err)
			}
		}
	}
	return all, nil
}

// tick is the unit of processor time in /proc.
const tick = 10 * time.Millisecond

func processorTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	const user, system = 11, 12 // after the program's name
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) <= system {
		return 0, fmt.Errorf("unexpected format: %q", data)
	}
	var sum int64
	for _, f := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// Profile returns a CPU profile of a cluster's agent.
func (b *Bed) Profile(ctx context.Context, cluster string, d time.Duration) ([]byte, error) {
	return get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", b.addresses[cluster].profiles, int(d.Seconds())))
}
