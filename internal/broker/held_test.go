package broker

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/informers"
)

// BenchmarkRecordsHeld tells how much memory an agent's copy takes for each record that a member writes, be it to
// do harm, and how much of that is what was sent. docs/security.md has the figures.
func BenchmarkRecordsHeld(b *testing.B) {
	for _, bm := range []struct {
		name    string
		records int
		extra   int // bytes in an annotation
	}{{"small", 20_000, 0}, {"large", 200, 1 << 20}} {
		b.Run(bm.name, func(b *testing.B) {
			var held, sent uint64
			for b.Loop() {
				store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byService: indexExports, byNamespace: indexNamespaces})
				before := heap()
				sent = 0
				for i := range bm.records {
					record := recordOf("c2", fmt.Sprint(i), false)
					record.Name, record.Spec.ServiceName = fmt.Sprintf("s%d.shop.c2", i), fmt.Sprintf("s%d", i)
					record.Spec.ExportedAnnotations = map[string]string{"note": strings.Repeat("x", bm.extra)}
					wire, err := json.Marshal(record)
					if err != nil {
						b.Fatal(err)
					}
					sent += uint64(len(wire))
					received := &brokerv1alpha1.ExportedService{}
					if err := json.Unmarshal(wire, received); err != nil {
						b.Fatal(err)
					}
					trimmed, _ := informers.Trim(received)
					if err := store.Add(trimmed); err != nil {
						b.Fatal(err)
					}
				}
				held = heap() - before
				runtime.KeepAlive(store)
			}
			b.ReportMetric(float64(held)/float64(bm.records), "B/record")
			b.ReportMetric(float64(held)/float64(sent), "held/sent")
		})
	}
}

// heap is how much is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
