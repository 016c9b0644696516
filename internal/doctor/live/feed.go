package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/atoll-mcs/atoll/internal/install"
)

const (
	// askInterval is how often an API server is asked whether it answers: a watch through a broken connection shows nothing.
	askInterval = 5 * time.Second
	// askTime is how long it may take to answer.
	askTime = 4 * time.Second
	// firstWait is how long to wait after the first attempt to find the broker: its name may just not have been read yet.
	firstWait = 100 * time.Millisecond
)

// kind is what to watch.
type kind struct {
	// what names the objects in messages.
	what    string
	object  client.Object
	list    client.ObjectList
	options []client.ListOption
	// strip removes what reports do not need.
	strip func(client.Object)
	// service returns the service that an object belongs to; the zero value if it concerns all.
	service func(client.Object) types.NamespacedName
	// listed kinds are listed at each askInterval: members may not watch heartbeats (ADR 38).
	listed bool
	// inNoNamespace kinds belong to the cluster.
	inNoNamespace bool
}

// feed keeps the objects of one API server current.
type feed struct {
	changed func(types.NamespacedName)
	client  client.WithWatch
	asks    discovery.DiscoveryInterface
	kinds   map[string]*watched
	order   []string

	mu       sync.Mutex
	answered time.Time
	failed   error
}

// watched is a kind that is watched.
type watched struct {
	kind
	changed  func(types.NamespacedName)
	informer cache.SharedIndexInformer
	// told is synced when all objects of the first list have been reported.
	told cache.ResourceEventHandlerRegistration

	mu  sync.Mutex
	err error
	// all are the objects of a kind that is listed, and read says that they have been.
	all  []client.Object
	read bool
}

// synced reports whether all objects of the kind have been read once.
func (w *watched) synced() bool {
	if w.listed {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.read
	}
	return w.told.HasSynced()
}

// readList lists the objects of a kind that is not watched.
func (w *watched) readList(ctx context.Context, c client.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	list := w.list.DeepCopyObject().(client.ObjectList)
	if err := c.List(ctx, list, w.options...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var all []client.Object
	for _, item := range items {
		if o, ok := item.(client.Object); ok {
			all = append(all, o)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all, w.read, w.err = all, true, nil
	return nil
}

// byService is the index of objects by the service that they belong to.
const byService = "service"

// newFeed returns a feed that reports changes of objects with the service that they belong to, which is zero for those that concern all.
func newFeed(config *rest.Config, kinds []kind, changed func(types.NamespacedName)) (*feed, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Timeout = -1, 0
	mapper, err := mapperOf(kinds)
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: install.Scheme(), Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", config.Host, err)
	}
	short := rest.CopyConfig(config)
	short.Timeout = askTime
	asks, err := discovery.NewDiscoveryClientForConfig(short)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", config.Host, err)
	}
	f := &feed{changed: changed, client: c, asks: asks, kinds: map[string]*watched{}}
	for _, k := range kinds {
		w := &watched{kind: k, changed: changed}
		f.kinds[k.what], f.order = w, append(f.order, k.what)
		if k.listed {
			continue
		}
		w.informer = cache.NewSharedIndexInformer(w.through(c), k.object, 0, cache.Indexers{byService: func(object any) ([]string, error) {
			return []string{k.service(object.(client.Object)).String()}, nil
		}})
		note := func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if o, ok := object.(client.Object); ok {
				changed(k.service(o))
			}
		}
		w.told, err = w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: note, DeleteFunc: note,
			UpdateFunc: func(old, now any) {
				if before, ok := old.(client.Object); ok && k.service(before) != k.service(now.(client.Object)) {
					note(old)
				}
				note(now)
			},
		})
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", k.what, err)
		}
		if err := w.informer.SetTransform(w.transform); err != nil {
			return nil, fmt.Errorf("watching %s: %w", k.what, err)
		}
		if err := w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { w.failed(err) }); err != nil {
			return nil, fmt.Errorf("watching %s: %w", k.what, err)
		}
	}
	return f, nil
}

// mapperOf returns the resources of kinds. Asking the API server for them would not end with a context.
func mapperOf(kinds []kind) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, k := range kinds {
		gvk, err := apiutil.GVKForObject(k.object, install.Scheme())
		if err != nil {
			return nil, err
		}
		scope := meta.RESTScopeNamespace
		if k.inNoNamespace {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(gvk, scope)
	}
	return mapper, nil
}

func (w *watched) through(c client.WithWatch) cache.ListerWatcher {
	with := func(o metav1.ListOptions) []client.ListOption {
		return append([]client.ListOption{&client.ListOptions{Raw: &o}}, w.options...)
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := w.list.DeepCopyObject().(client.ObjectList)
			err := c.List(ctx, list, with(o)...)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			stream, err := c.Watch(ctx, w.list.DeepCopyObject().(client.ObjectList), with(o)...)
			if err == nil {
				w.works()
			}
			return stream, err
		},
	}
}

func (w *watched) transform(object any) (any, error) {
	o, ok := object.(client.Object)
	if !ok {
		return object, nil
	}
	if w.strip != nil {
		w.strip(o)
	}
	return o, nil
}

// works notes that a watch has begun.
func (w *watched) works() {
	w.mu.Lock()
	had := w.err != nil
	w.err = nil
	w.mu.Unlock()
	if had {
		w.changed(types.NamespacedName{})
	}
}

func (w *watched) failed(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // it is listed again
	}
	w.mu.Lock()
	first := w.err == nil
	w.err = fmt.Errorf("listing %s: %w", w.what, err)
	w.mu.Unlock()
	if first {
		w.changed(types.NamespacedName{})
	}
}

// unread returns why the kind has never been read, or may not be read any more; else nil. What was read stays while the API server
// only does not answer: contact says so.
func (w *watched) unread() error {
	synced := w.synced()
	w.mu.Lock()
	defer w.mu.Unlock()
	if synced && !apierrors.IsForbidden(w.err) {
		return nil
	}
	return w.err
}

// run watches until ctx is done, or stop returns true for an error of the API server.
func (f *feed) run(ctx context.Context, stop func(error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, w := range f.kinds {
		if w.listed {
			continue
		}
		all.Go(func() { w.informer.RunWithContext(ctx) })
		all.Go(func() {
			select {
			case <-ctx.Done():
			case <-w.told.HasSyncedChecker().Done():
				f.changed(types.NamespacedName{}) // no object may tell
			}
		})
	}
	defer all.Wait()
	defer cancel()
	every := time.NewTicker(askInterval)
	defer every.Stop()
	for {
		err := f.ask()
		news := f.heard(err)
		for _, w := range f.kinds {
			if w.listed && err == nil {
				if failed := w.readList(ctx, f.client); failed != nil {
					w.failed(failed)
				}
				news = true
			}
		}
		if news {
			f.changed(types.NamespacedName{})
		}
		if err != nil && stop(err) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// ask asks the API server for its version, which every user may read.
func (f *feed) ask() error {
	_, err := f.asks.ServerVersion()
	return err
}

// heard notes whether the API server has answered, and reports whether that is news.
func (f *feed) heard(err error) (news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news = (err == nil) != (f.failed == nil) || f.answered.IsZero() && err == nil
	if f.failed = err; err == nil {
		f.answered = time.Now()
	}
	return news
}

// contact returns when the API server answered last, and why it does not answer now.
func (f *feed) contact() (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered, f.failed
}

// unread returns why kinds have never been read, and whether all others have been.
func (f *feed) unread() (all []error, complete bool) {
	complete = true
	for _, what := range f.order {
		w := f.kinds[what]
		if err := w.unread(); err != nil {
			all = append(all, err)
		} else if !w.synced() {
			complete = false
		}
	}
	return all, complete
}

// has reports whether kinds have been read, and still may be.
func (f *feed) has(kinds ...string) bool {
	return !slices.ContainsFunc(kinds, func(what string) bool {
		w := f.kinds[what]
		return !w.synced() || w.unread() != nil
	})
}

// objects returns the objects of a kind that belong to a service, or all if it is zero. They are not to be changed.
func objects[T client.Object](f *feed, what string, service types.NamespacedName) []T {
	w := f.kinds[what]
	if w.listed {
		w.mu.Lock()
		defer w.mu.Unlock()
		var all []T
		for _, o := range w.all {
			if t, ok := o.(T); ok {
				all = append(all, t)
			}
		}
		return all
	}
	found := w.informer.GetStore().List
	if service != (types.NamespacedName{}) {
		some, err := w.informer.GetIndexer().ByIndex(byService, service.String())
		if err != nil {
			return nil
		}
		found = func() []any { return some }
	}
	var all []T
	for _, o := range found() {
		if t, ok := o.(T); ok {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b T) int {
		return slices.Compare([]string{a.GetNamespace(), a.GetName()}, []string{b.GetNamespace(), b.GetName()})
	})
	return all
}

// values returns objects as lists of the API have them. It is never nil.
func values[T any](all []*T) []T {
	list := make([]T, len(all))
	for i, o := range all {
		list[i] = *o
	}
	return list
}
