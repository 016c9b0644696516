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

// sight is what there is in a namespace, as watches show it.
type sight struct {
	mu      sync.Mutex
	objects objects
	at      time.Time     // when the last event came
	changed chan struct{} // closed then

	running sync.WaitGroup
}

func newSight() *sight {
	return &sight{objects: objects{}, changed: make(chan struct{})}
}

// follow watches the objects of a kind in a namespace until ctx is done. It returns when those that there are have been seen.
func (s *sight) follow(ctx context.Context, c client.WithWatch, namespace string, object client.Object, list client.ObjectList) error {
	// What is not allowed is said at once, and not tried again and again.
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
		return fmt.Errorf("following %T: %w", list, err)
	}
	s.running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		return ctx.Err()
	}
	return nil
}

func key[T client.Object](name string) string {
	var kind T
	return fmt.Sprintf("%T/%s", kind, name)
}

func (s *sight) note(o client.Object, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := fmt.Sprintf("%T/%s", o, o.GetName()); there {
		s.objects[key] = o
	} else {
		delete(s.objects, key)
	}
	s.at = time.Now()
	close(s.changed)
	s.changed = make(chan struct{})
}

// objects are by kind and name.
type objects map[string]client.Object

// A state is something that can be so in a namespace.
type state func(objects) bool

// await returns when it is so, with the time at which it was seen to be.
func (s *sight) await(ctx context.Context, wanted state) (time.Time, error) {
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

// gone is that there is no ServiceImport.
func gone(name string) state {
	key := key[*mcsv1beta1.ServiceImport](name)
	return func(have objects) bool { return have[key] == nil }
}

// endpoints is that the imported EndpointSlices of a service have these addresses, among others.
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

// usable is that a ServiceImport has its clusterset IP.
func usable(name string) state {
	key := key[*mcsv1beta1.ServiceImport](name)
	return func(have objects) bool {
		imported, ok := have[key].(*mcsv1beta1.ServiceImport)
		return ok && len(imported.Spec.IPs) > 0
	}
}

// all is that several are so.
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
