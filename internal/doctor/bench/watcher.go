package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// importWatcher is the state of a namespace from watches.
type importWatcher struct {
	mu      sync.Mutex
	objects objects
	at      time.Time     // the time of the last event
	changed chan struct{} // closed on the next event

	running sync.WaitGroup
}

func newImportWatcher() *importWatcher {
	return &importWatcher{objects: objects{}, changed: make(chan struct{})}
}

// follow watches the objects of a kind in a namespace until ctx is done. It returns when the existing ones are known.
func (s *importWatcher) follow(ctx context.Context, c client.WithWatch, namespace string, object client.Object, list client.ObjectList) error {
	// Informers retry forbidden requests forever, so fail here first.
	if err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return fmt.Errorf("listing %T: %w", list, err)
	}
	informer := cache.NewSharedInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			into := list.DeepCopyObject().(client.ObjectList)
			return into, c.List(ctx, into, client.InNamespace(namespace), &client.ListOptions{Raw: &o})
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, list.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace), &client.ListOptions{Raw: &o})
		},
	}, object, 0)
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.note(o.(client.Object), true) },
		UpdateFunc: func(_, o any) { s.note(o.(client.Object), true) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			s.note(o.(client.Object), false)
		},
	})
	if err != nil {
		return fmt.Errorf("watching %T: %w", list, err)
	}
	s.running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		return ctx.Err()
	}
	return nil
}

func key(kind client.Object, name string) string { return fmt.Sprintf("%T/%s", kind, name) }

func (s *importWatcher) note(o client.Object, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := key(o, o.GetName()); there {
		s.objects[key] = o
	} else {
		delete(s.objects, key)
	}
	s.at = time.Now()
	close(s.changed)
	s.changed = make(chan struct{})
}

// objects are keyed by kind and name.
type objects map[string]client.Object

// A state is a condition on a namespace's objects.
type state func(objects) bool

// await waits for a state and returns the time of the event that reached it.
func (s *importWatcher) await(ctx context.Context, wanted state) (time.Time, error) {
	for {
		s.mu.Lock()
		so, at, changed := wanted(s.objects), s.at, s.changed
		s.mu.Unlock()
		if so {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-changed:
		}
	}
}

// gone is the state without a ServiceImport.
func gone(name string) state {
	key := key(&mcsv1beta1.ServiceImport{}, name)
	return func(have objects) bool { return have[key] == nil }
}

// endpoints is the state in which a service's imported EndpointSlices contain these addresses.
func endpoints(service string, addresses ...string) state {
	return func(have objects) bool {
		found := map[string]bool{}
		for _, o := range have {
			if slice, ok := o.(*discoveryv1.EndpointSlice); ok && slice.Labels[names.LabelServiceName] == service {
				for _, e := range slice.Endpoints {
					found[e.Addresses[0]] = true
				}
			}
		}
		for _, a := range addresses {
			if !found[a] {
				return false
			}
		}
		return true
	}
}

// usable is the state in which a ServiceImport has its clusterset IP.
func usable(name string) state {
	key := key(&mcsv1beta1.ServiceImport{}, name)
	return func(have objects) bool {
		imported, ok := have[key].(*mcsv1beta1.ServiceImport)
		return ok && len(imported.Spec.IPs) > 0
	}
}

// all is the conjunction of states.
func all(states ...state) state {
	return func(have objects) bool {
		for _, so := range states {
			if !so(have) {
				return false
			}
		}
		return true
	}
}
