package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/process"
)

// Informer is what a bare informer says of itself when it has all slices.
type Informer struct {
	// Slices is how many it holds, Heap the bytes of live objects after a collection.
	Slices int    `json:"slices"`
	Heap   uint64 `json:"heap"`
}

// RunInformer is a program that holds nothing but an informer's cache of a broker's
// EndpointSlices: client-go's, as it is. With empty set it selects none, which shows what
// the program itself needs. It says when it is complete, and ends with its input.
func RunInformer(ctx context.Context, kubeconfig, context string, empty bool, in io.Reader, out io.Writer) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.ContentType, config.QPS = "application/vnd.kubernetes.protobuf", -1
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	selector := discoveryv1.LabelManagedBy + "=" + names.AgentManager
	if empty {
		selector = names.LabelSourceCluster + "=nobody"
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(broker.DefaultNamespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector }))
	informer := factory.Discovery().V1().EndpointSlices().Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	fmt.Fprintln(out, "complete")
	for range 2 { // as of the agent: what is in a sync.Pool goes with the second only
		runtime.GC()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	report := Informer{Slices: len(informer.GetStore().ListKeys()), Heap: memory.HeapAlloc}
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return fmt.Errorf("reporting: %w", err)
	}
	_, err = io.Copy(io.Discard, in)
	runtime.KeepAlive(informer)
	return err
}

// measuredInformer is a bare informer as it was seen from outside.
type measuredInformer struct {
	Informer
	// Synced is the time from its start until it was complete.
	Synced time.Duration
	// Memory is its share of the machine's memory then, in bytes.
	Memory int64
}

// bareInformer runs a bare informer of the broker's slices in a process of its own.
func (r *Run) bareInformer(ctx context.Context, empty bool) (found measuredInformer, err error) {
	args := append(append([]string{}, r.Self[1:]...), "--kubeconfig="+r.Bed.Lab.Kubeconfig(), "--context="+lab.Broker, fmt.Sprintf("--empty=%t", empty))
	command := exec.CommandContext(ctx, r.Self[0], args...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return found, fmt.Errorf("starting a bare informer: %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return found, fmt.Errorf("starting a bare informer: %w", err)
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return found, fmt.Errorf("starting a bare informer: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close(), command.Wait()) }()
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		return found, fmt.Errorf("waiting for a bare informer: %w", err)
	}
	found.Synced = time.Since(began)
	if err := json.NewDecoder(lines).Decode(&found.Informer); err != nil {
		return found, fmt.Errorf("reading a bare informer's report: %w", err)
	}
	found.Memory, err = process.Record{PID: command.Process.Pid}.Memory()
	return found, err
}
