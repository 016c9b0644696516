package bed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Mark is an event in an importing cluster that an Observer can see.
type Mark struct {
	stage, service string
	endpoints      int
}

// Exists means that the ServiceImport exists.
func Exists(service string) Mark { return Mark{"exists", service, 0} }

// Usable means that the ServiceImport has its clusterset IP.
func Usable(service string) Mark { return Mark{"usable", service, 0} }

// Endpoints means that the imported slices have n endpoints.
func Endpoints(service string, n int) Mark { return Mark{"endpoints", service, n} }

// Appeared means that an imported slice contains an address.
func Appeared(address string) Mark { return Mark{"appeared", address, 0} }

// Vanished means that the slice no longer contains an address.
func Vanished(address string) Mark { return Mark{"vanished", address, 0} }

// Gone means that the ServiceImport is deleted.
func Gone(service string) Mark { return Mark{"gone", service, 0} }

// String formats the mark for messages.
func (m Mark) String() string {
	if m.stage == "endpoints" {
		return fmt.Sprintf("%d endpoints of %s", m.endpoints, m.service)
	}
	return m.service + " " + m.stage
}

// Observer watches the ServiceImports and the imported slices of a namespace, and records the
// time at which it first sees each mark.
type Observer struct {
	mu      sync.Mutex
	marks   map[Mark]time.Time
	slices  map[string]map[string]bool // the addresses in each slice
	counts  map[string]int             // endpoints by service
	failure error
	changed chan struct{}
}

// Observe starts an Observer for events from now on, until ctx is done.
func Observe(ctx context.Context, c client.WithWatch, namespace string) (*Observer, error) {
	o := &Observer{
		marks: map[Mark]time.Time{}, slices: map[string]map[string]bool{}, counts: map[string]int{}, changed: make(chan struct{}),
	}
	if err := o.follow(ctx, c, &mcsv1beta1.ServiceImportList{}, o.onImport, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	err := o.follow(ctx, c, &discoveryv1.EndpointSliceList{}, o.onSlice, client.InNamespace(namespace), client.HasLabels{names.LabelSourceCluster})
	return o, err
}

// follow watches the objects of a list, starting with the current objects.
func (o *Observer) follow(ctx context.Context, c client.WithWatch, list client.ObjectList, on func(watch.Event, time.Time), opts ...client.ListOption) error {
	events, err := Watch(ctx, c, list, opts...)
	if err != nil {
		return err
	}
	go func() {
		for event := range events {
			at := time.Now()
			o.update(func() {
				if event.Type == watch.Error {
					o.failure = fmt.Errorf("watching %T: %w", list, apierrors.FromObject(event.Object))
				} else {
					on(event, at)
				}
			})
		}
		o.update(func() { o.failure = errors.Join(o.failure, fmt.Errorf("the watch of %T has ended", list)) })
	}()
	return nil
}

// update changes the state and wakes all waiting callers.
func (o *Observer) update(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
	close(o.changed)
	o.changed = make(chan struct{})
}

// onImport handles an event of a ServiceImport. The caller holds mu.
func (o *Observer) onImport(e watch.Event, at time.Time) {
	imp, ok := e.Object.(*mcsv1beta1.ServiceImport)
	switch {
	case !ok:
		return
	case e.Type == watch.Deleted:
		o.note(Gone(imp.Name), at)
		return
	case len(imp.Spec.IPs) > 0:
		o.note(Usable(imp.Name), at)
	}
	o.note(Exists(imp.Name), at)
}

// onSlice handles an event of a slice. The caller holds mu.
func (o *Observer) onSlice(e watch.Event, at time.Time) {
	slice, ok := e.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	have := map[string]bool{}
	if e.Type != watch.Deleted {
		for _, endpoint := range slice.Endpoints {
			have[endpoint.Addresses[0]] = true
		}
	}
	had := o.slices[slice.Name]
	for address := range have {
		if !had[address] {
			o.note(Appeared(address), at)
		}
	}
	for address := range had {
		if !have[address] {
			o.note(Vanished(address), at)
		}
	}
	o.slices[slice.Name] = have
	service := slice.Labels[names.LabelServiceName]
	o.counts[service] += len(have) - len(had)
	o.note(Endpoints(service, o.counts[service]), at)
}

// note records a mark. The first time counts. The caller holds mu.
func (o *Observer) note(m Mark, at time.Time) {
	if _, ok := o.marks[m]; !ok {
		o.marks[m] = at
	}
}

// Await waits until all marks have been seen, and returns the time of the last.
func (o *Observer) Await(ctx context.Context, marks ...Mark) (last time.Time, err error) {
	for len(marks) > 0 {
		o.mu.Lock()
		at, seen := o.marks[marks[0]]
		failure, changed := o.failure, o.changed
		o.mu.Unlock()
		switch {
		case seen:
			if at.After(last) {
				last = at
			}
			marks = marks[1:]
			continue
		case failure != nil:
			return last, fmt.Errorf("waiting for %s: %w", marks[0], failure)
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("waiting for %s: %w", marks[0], context.Cause(ctx))
		case <-changed:
		}
	}
	return last, nil
}
