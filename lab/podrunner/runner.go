package podrunner

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podspec"
)

// runner is what the workers of all Pods share.
type runner struct {
	cfg      Config
	log      *slog.Logger
	client   kubernetes.Interface
	objects  *objects
	recorder record.EventRecorder
	resolver podspec.Resolver // the host's
	nodeInfo corev1.NodeSystemInfo

	mu      sync.Mutex
	workers map[types.UID]*worker
	stopped bool
	running sync.WaitGroup
}

// Run registers the nodes and runs their Pods until ctx is done; then it ends
// all of them and removes what it made on the host. It leaves the API's objects
// alone then: another runner goes on from there. Before it begins it removes
// what an earlier runner of the same lab and cluster left behind.
//
// It needs root. An API server that does not answer is waited for.
func Run(ctx context.Context, cfg Config, log *slog.Logger) error {
	if err := cfg.complete(); err != nil {
		return err
	}
	locked, err := lock(&cfg)
	if err != nil {
		return err
	}
	defer locked.Close()
	if err := removeRemains(&cfg); err != nil {
		return err
	}
	r, err := newRunner(cfg, log)
	if err != nil {
		return err
	}
	defer r.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before waiting, also when starting fails halfway
	return r.run(ctx)
}

func newRunner(cfg Config, log *slog.Logger) (*runner, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	// The server protects itself; a limit here only delays Pods.
	config.QPS, config.Burst = 1000, 2000
	config.ContentType, config.UserAgent = "application/vnd.kubernetes.protobuf", "atoll-podrunner/"+cfg.Cluster
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making client: %w", err)
	}
	text, _ := os.ReadFile("/etc/resolv.conf") // without one there are no name servers
	r := &runner{
		cfg: cfg, log: log, client: client, resolver: podspec.ParseResolver(string(text)),
		workers: map[types.UID]*worker{},
	}
	if r.objects, err = newObjects(client, r.wakeNamespace); err != nil {
		return nil, fmt.Errorf("watching objects: %w", err)
	}
	return r, nil
}

func (r *runner) run(ctx context.Context) error {
	events := record.NewBroadcaster()
	defer events.Shutdown()
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: r.client.CoreV1().Events("")})
	r.recorder = events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"})

	r.objects.factory.Start(ctx.Done())
	for kind, ok := range r.objects.factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("reading all %v: %w", kind, ctx.Err())
		}
	}
	r.nodeInfo = nodeInfo(r.client)
	for _, node := range r.cfg.Nodes {
		if err := r.serve(ctx, node); err != nil {
			return err
		}
		if err := r.watchPods(ctx, node); err != nil {
			return fmt.Errorf("watching pods of %s: %w", node, err)
		}
		keeper := &nodeKeeper{runner: r, node: node}
		go keeper.run(ctx)
	}
	r.removeOldLogs()
	r.log.Info("running pods", "cluster", r.cfg.Cluster, "nodes", len(r.cfg.Nodes))
	<-ctx.Done()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// watchPods gives each Pod that is bound to the node a worker.
func (r *runner) watchPods(ctx context.Context, node Node) error {
	pool, err := newAddresses(node.PodCIDRs, filepath.Join(r.cfg.StateDir, "addresses", node.Name))
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithTransform(withoutManagedFields),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node.Name).String()
		}))
	informer := factory.Core().V1().Pods().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { r.podChanged(ctx, node, pool, object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { r.podChanged(ctx, node, pool, object.(*corev1.Pod)) },
		DeleteFunc: r.podDeleted,
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}

func (r *runner) podChanged(ctx context.Context, node Node, pool *addresses, pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.workers[pod.UID]
	if !ok {
		if r.stopped || ctx.Err() != nil {
			return
		}
		w = newWorker(r, node, pool, pod)
		r.workers[pod.UID] = w
		r.running.Add(1)
		go func() {
			defer r.running.Done()
			w.run(ctx)
			r.mu.Lock()
			delete(r.workers, pod.UID)
			r.mu.Unlock()
		}()
		return
	}
	w.mail.post(func() { w.pod = pod })
}

func (r *runner) podDeleted(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.workers[pod.UID]; ok {
		w.mail.post(func() { w.deleted = true })
	}
}

// wakeNamespace makes the workers of a namespace look at its objects again.
func (r *runner) wakeNamespace(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workers {
		if w.namespace == namespace {
			w.mail.post(nil)
		}
	}
}

// find returns the newest worker of a Pod's name on a node.
func (r *runner) find(node, namespace, name string, uid types.UID) (*worker, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *worker
	for _, w := range r.workers {
		if w.node.Name != node || w.namespace != namespace || w.name != name || uid != "" && w.uid != uid {
			continue
		}
		if found == nil || w.created.After(found.created) {
			found = w
		}
	}
	return found, found != nil
}

// patience is how long the runner tries a request to the API server.
const patience = 10 * time.Second
