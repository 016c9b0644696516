package cases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
)

// calm is how long no program must write until all writes are done. It is longer than an agent
// delays any change.
const calm = 1500 * time.Millisecond

// counted calls do and returns the resulting writes of agents, by cluster.
func (r *Run) counted(ctx context.Context, do func() error) (map[string][]audit.Write, error) {
	logs := map[string]*audit.Log{}
	for cluster := range r.Bed.On {
		log, err := audit.Open(r.Bed.Lab.AuditLog(cluster))
		if err != nil {
			return nil, err
		}
		logs[cluster] = log
	}
	if _, err := untilCalm(ctx, logs); err != nil { // earlier writes do not count
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	return untilCalm(ctx, logs)
}

// untilCalm waits until agents stop writing, and returns their writes by cluster.
func untilCalm(ctx context.Context, logs map[string]*audit.Log) (map[string][]audit.Write, error) {
	var mu sync.Mutex
	found := map[string][]audit.Write{}
	err := bed.Each(ctx, slices.Collect(maps.Keys(logs)), func(ctx context.Context, cluster string) error {
		writes, err := logs[cluster].Quiet(ctx, calm, byAgent)
		mu.Lock()
		defer mu.Unlock()
		found[cluster] = writes
		return err
	})
	return found, err
}

// byAgent tells whether a write was an agent's, in its own cluster or on the broker, and no
// heartbeat.
func byAgent(w audit.Write) bool {
	return strings.HasPrefix(w.User, "system:serviceaccount:atoll-") && w.Resource != "leases"
}

// ofSlices returns the writes of EndpointSlices.
func ofSlices(writes []audit.Write) []audit.Write {
	return slices.DeleteFunc(slices.Clone(writes), func(w audit.Write) bool { return w.Resource != "endpointslices" })
}

// places names the origins of the writes to a cluster's API server.
var places = map[string]string{lab.Broker: "on the broker", exporter: "in the exporting cluster", importer: "in an importing cluster"}

// kinds summarizes writes, such as "2 x create services".
func kinds(writes []audit.Write) string {
	counts := map[string]int{}
	var order []string
	for _, w := range writes {
		kind := w.Verb + " " + w.Resource
		if w.Subresource != "" {
			kind += "/" + w.Subresource
		}
		if !w.Succeeded() {
			kind += fmt.Sprintf(" (%d)", w.Code)
		}
		if counts[kind] == 0 {
			order = append(order, kind)
		}
		counts[kind]++
	}
	for i, kind := range order {
		order[i] = fmt.Sprintf("%d x %s", counts[kind], kind)
	}
	return strings.Join(order, ", ")
}
