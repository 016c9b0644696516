package broker

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
)

// Ranges is a live copy of which addresses the broker's owner allows members' endpoints to have: a ConfigMap that the
// owner alone may write (docs/adr/0033-allowed-ranges.md). What it said last holds for as long as the broker has none, or
// can't be reached: to allow more, the owner writes so. It lasts as long as the membership, while views come and go.
type Ranges struct {
	namespace string
	log       *slog.Logger
	informer  cache.SharedIndexInformer
	seen      cache.ResourceEventHandlerRegistration // by the handler below, which follows the informer

	mu       sync.Mutex
	allowed  ranges.Allowed
	mistakes string // that were told last
	warned   bool
	refused  time.Time // since when the broker has answered nothing but that this cluster may not see it
	handlers map[*func(names.ClusterID)]bool
}

// NewRanges returns a copy for a clusterset that knows nothing until Start.
func NewRanges(c client.WithWatch, namespace string, log *slog.Logger) *Ranges {
	return newRanges(c, nil, namespace, log)
}

func newRanges(c client.WithWatch, tap *informers.Tap, namespace string, log *slog.Logger) *Ranges {
	r := &Ranges{namespace: namespace, log: log, handlers: map[*func(names.ClusterID)]bool{}}
	r.informer = informers.NewTapped(r.withoutRight(c), tap, &corev1.ConfigMapList{}, &corev1.ConfigMap{}, nil,
		client.InNamespace(namespace), client.MatchingFields{metav1.ObjectNameField: names.AllowedRanges})
	// Fails only when the informer has stopped.
	r.seen, _ = r.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { r.read(object.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, object any) { r.read(object.(*corev1.ConfigMap)) },
		DeleteFunc: func(any) { r.missing() },
	})
	return r
}

// Remember has something hold that was known before, until the broker says what does. It is called before Start.
func (r *Ranges) Remember(allowed ranges.Allowed) { r.allowed = maps.Clone(allowed) }

// Start keeps the copy current until ctx is done.
func (r *Ranges) Start(ctx context.Context) error {
	go func() {
		if r.Await(ctx) == nil && len(r.informer.GetStore().ListKeys()) == 0 && len(r.Known()) > 0 {
			r.missing()
		}
	}()
	r.informer.RunWithContext(ctx)
	return nil
}

// NeedLeaderElection makes the copy start on every replica, so that a new leader finds it filled.
func (r *Ranges) NeedLeaderElection() bool { return false }

// Synced tells whether it is known what the broker says.
func (r *Ranges) Synced() bool { return r.seen.HasSynced() }

// Await returns when it is known what the broker says, or with ctx's error.
func (r *Ranges) Await(ctx context.Context) error {
	return informers.Await(ctx, r.seen.HasSyncedChecker())
}

// Of returns which addresses a member's endpoints may have, and false where they may have any.
func (r *Ranges) Of(cluster names.ClusterID) (ranges.Set, bool) { return r.Known().Of(cluster) }

// Known is all that holds. It is not changed any more.
func (r *Ranges) Known() ranges.Allowed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.allowed
}

// OnChange has f called with each member for which something else is allowed than before, until what it returns is called.
func (r *Ranges) OnChange(f func(names.ClusterID)) (off func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers[&f] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.handlers, &f)
	}
}

// read takes over what the owner has written, and tells what of it is wrong, once.
func (r *Ranges) read(from *corev1.ConfigMap) {
	allowed, wrong := ranges.Read(from)
	mistakes := strings.Join(wrong, "; ")
	r.mu.Lock()
	changed := ranges.Changed(r.allowed, allowed)
	news := mistakes != r.mistakes && mistakes != ""
	r.allowed, r.mistakes = allowed, mistakes
	handlers := slices.Collect(maps.Keys(r.handlers))
	r.mu.Unlock()
	if news {
		r.log.Warn("some of what the broker's owner has written about the addresses that members may have can't be read, and allows nothing: "+
			"see atoll broker ranges get, on the broker", "configmap", r.namespace+"/"+names.AllowedRanges, "mistakes", mistakes)
	}
	for _, id := range changed {
		for _, f := range handlers {
			(*f)(id)
		}
	}
}

// missing says that what is known still holds.
func (r *Ranges) missing() {
	if len(r.Known()) > 0 {
		r.log.Warn("the broker does not say any more which addresses members may have: what it said last holds until it does again, "+
			"by atoll broker ranges set or clear, on the broker", "configmap", r.namespace+"/"+names.AllowedRanges)
	}
}

const (
	// unseen is how long a broker is not asked again that does not let its members read the ConfigMap.
	unseen = 5 * time.Minute
	// doubtful is how long it is not believed: an API server that has just started, or been given a right, may refuse
	// for a moment what it allows.
	doubtful = 3 * time.Second
)

// withoutRight returns a client for which a broker that does not let its members read the ConfigMap, because it was
// deployed before there was one, has none, and asks again after some minutes.
func (r *Ranges) withoutRight(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if r.mayNot(apierrors.IsForbidden(err)) {
				r.warnOnce(err)
				return nil
			}
			return err
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			w, err := c.Watch(ctx, list, opts...)
			if !apierrors.IsForbidden(err) {
				return w, err
			}
			raw := (&client.ListOptions{}).ApplyOptions(opts).Raw
			if raw != nil && ptr.Deref(raw.SendInitialEvents, false) {
				// Informers list then.
				return nil, &meta.NoKindMatchError{GroupKind: corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind()}
			}
			return newUnseen(), nil
		},
	})
}

// mayNot tells whether the broker has refused for so long that it means it.
func (r *Ranges) mayNot(refused bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !refused:
		r.refused = time.Time{}
	case r.refused.IsZero():
		r.refused = time.Now()
	}
	return refused && time.Since(r.refused) >= doubtful
}

// unseenWatch is a watch that shows nothing, and after some minutes has all be listed again.
type unseenWatch struct {
	result chan watch.Event
	end    *time.Timer
}

func newUnseen() *unseenWatch {
	w := &unseenWatch{result: make(chan watch.Event, 1)}
	w.end = time.AfterFunc(unseen, func() {
		w.result <- watch.Event{Type: watch.Error, Object: &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "members may be let see it now",
		}}
	})
	return w
}

// ResultChan implements watch.Interface.
func (w *unseenWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *unseenWatch) Stop() { w.end.Stop() }

// warnOnce says that the broker was deployed by an older version.
func (r *Ranges) warnOnce(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.warned {
		r.log.Info("this cluster can't see which addresses the broker's owner allows members, so that they may have any: run atoll broker deploy again, on the broker", "reason", err)
		r.warned = true
	}
}

// Allowed returns which addresses the broker's owner allows a cluster's endpoints to have, and false for any.
func (v *View) Allowed(cluster names.ClusterID) (ranges.Set, bool) { return v.Epoch.Ranges.Of(cluster) }

// RangesSynced tells whether it is known what the broker's owner allows.
func (v *View) RangesSynced() bool { return v.Epoch.Ranges.Synced() }

// AwaitRanges returns when it is known what the broker's owner allows, or with ctx's error.
func (v *View) AwaitRanges(ctx context.Context) error { return v.Epoch.Ranges.Await(ctx) }

// OnAllowed has f called with each cluster to whose endpoints other addresses are allowed than before.
func (v *View) OnAllowed(f func(names.ClusterID)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.left {
		v.off = append(v.off, v.Epoch.Ranges.OnChange(f))
	}
}
