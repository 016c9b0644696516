package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/child"
)

// RoleInformer is the name of the role Informer.
const RoleInformer = "informer"

// informerReport is the report of a bare informer that has all slices.
type informerReport struct {
	Slices int
	// Heap is the number of bytes of live objects after garbage collections.
	Heap uint64
	// Synced is when the informer had all slices.
	Synced time.Time
	// Memory is the resident memory of the process, in bytes.
	Memory int64 `json:"-"`
}

// Informer is the role of a program that has only client-go's informer cache of a broker's
// EndpointSlices: the floor of an agent's memory. Its arguments are a lab, and whether to
// select no slices, which measures the program itself.
func Informer(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	l, err := lab.Open(args[0])
	if err != nil {
		return err
	}
	config, err := l.RESTConfig(lab.Broker)
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	selector := discoveryv1.LabelManagedBy + "=" + names.AgentManager
	if args[1] == "true" {
		selector = names.LabelSourceCluster + "=nobody"
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(broker.DefaultNamespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector }))
	informer := factory.Discovery().V1().EndpointSlices().Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	report := informerReport{Slices: len(informer.GetStore().ListKeys()), Synced: time.Now()}
	report.Heap = liveHeap()
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return fmt.Errorf("reporting: %w", err)
	}
	_, err = io.Copy(io.Discard, in)
	runtime.KeepAlive(informer)
	return err
}

// liveHeap returns the number of bytes of this process's live objects.
func liveHeap() uint64 {
	for range 2 { // as of the agent: a sync.Pool lets go with the second collection only
		runtime.GC()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

// bareInformer runs a bare informer of the broker's slices. It also returns the time from the
// start until the informer had all slices.
func (r *Run) bareInformer(empty bool) (found informerReport, synced time.Duration, err error) {
	began := time.Now()
	p, err := child.Start(nil, RoleInformer, r.Bed.Lab.Name(), strconv.FormatBool(empty))
	if err != nil {
		return found, 0, err
	}
	defer p.Stop()
	if err := json.Unmarshal([]byte(p.Line), &found); err != nil {
		return found, 0, fmt.Errorf("reading a bare informer's report: %w", err)
	}
	found.Memory, err = p.Record.Memory()
	return found, found.Synced.Sub(began), err
}
