package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/bench/child"
	"github.com/atoll-mcs/atoll/test/bench/figure"
	"github.com/atoll-mcs/atoll/test/objects"
)

// RoleFirstSync is the name of the role FirstSync.
const RoleFirstSync = "first-sync"

// Of firstObjects on the broker, every slicesPerExport-th is the record of an export, the others
// are its slices. Slices are small, so that the costs of each object count, not of its endpoints.
const (
	firstObjects    = 500_000
	slicesPerExport = 50
)

// What a child of the case measures.
const (
	measureView     = "view"
	measureInformer = "informer"
)

// firstReport is the report of a program that has all first objects.
type firstReport struct {
	Took time.Duration
	// Cached is the part of Took until the view's cache had all slices.
	Cached          time.Duration
	Slices, Records int
	// Heap is the number of bytes of live objects after garbage collections.
	Heap uint64
}

// firstSync compares the time until a program's view of the broker is complete with the time of a
// bare client-go informer of the same objects.
func firstSync(ctx context.Context, r *Run, c *figure.Case) error {
	dir, err := os.MkdirTemp("", "atoll-bench-first-sync-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	exports := max(1, r.sized(firstObjects)/slicesPerExport)
	r.Say("writing %d objects", exports*slicesPerExport)
	if err := writeFirst(dir, exports); err != nil {
		return err
	}
	took, heap := map[string][]time.Duration{}, map[string][]float64{}
	var cached []time.Duration
	for block := range r.Blocks {
		for _, what := range []string{measureInformer, measureView} {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			found, err := readFirst(dir, what)
			if err != nil {
				return err
			}
			if found.Records != exports || found.Slices != exports*(slicesPerExport-1) {
				return fmt.Errorf("the %s knows %d records and %d slices of %d exports", what, found.Records, found.Slices, exports)
			}
			r.Say("first-sync: %d of %d: %s: %s", block+1, r.Blocks, what, found.Took)
			took[what], heap[what] = append(took[what], found.Took), append(heap[what], float64(found.Heap)/mib)
			if what == measureView {
				cached = append(cached, found.Cached)
			}
		}
	}
	c.Add(
		figure.Times(fmt.Sprintf("until the view knows %d objects", exports*slicesPerExport), figure.Seconds, took[measureView], took[measureInformer]).
			AtMostFloors(1.3).Because("from the first request until the view's first answers are published; the floor is client-go's informers of the same events, until they have synced"),
		figure.Times("of that, until its cache has the slices", figure.Seconds, cached, took[measureInformer]).
			Because("with the border's transform and first handler, and the indexes"),
		figure.New("live heap after it", figure.MiB, heap[measureView], heap[measureInformer]...),
	)
	c.Notes = append(c.Notes, fmt.Sprintf("%d records and %d slices of one endpoint each, from %d clusters, all imported", exports, exports*(slicesPerExport-1), fleetSize))
	return nil
}

// readFirst has a new process read the objects in a folder.
func readFirst(dir, what string) (found firstReport, err error) {
	p, err := child.Start(nil, RoleFirstSync, dir, what)
	if err != nil {
		return found, err
	}
	defer p.Stop()
	if err := json.Unmarshal([]byte(p.Line), &found); err != nil {
		return found, fmt.Errorf("reading a report of %s: %w", what, err)
	}
	return found, nil
}

// FirstSync is the role of a program that reads all objects of a broker once: with a view as the
// agent's, or with client-go's informers only. Its arguments are the folder of the events, and which.
func FirstSync(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // informers retry whatever fails
	defer cancel()
	read := map[string]func(context.Context, *rest.Config) (func() (firstReport, error), error){measureView: viewFirst, measureInformer: informFirst}[args[1]]
	began := time.Now()
	count, err := read(ctx, &rest.Config{Host: "http://in-memory", Transport: recorded(args[0]), QPS: -1})
	if err != nil {
		return err
	}
	took := time.Since(began)
	report, err := count()
	if err != nil {
		return err
	}
	report.Took, report.Heap = took, liveHeap()
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return fmt.Errorf("reporting: %w", err)
	}
	_, err = io.Copy(io.Discard, in)
	_, _ = count() // so that everything lives until here
	return err
}

// informFirst reads everything with informers that decode as the agent's cache does.
func informFirst(ctx context.Context, config *rest.Config) (count func() (firstReport, error), err error) {
	var stores []toolscache.Store
	var synced []toolscache.InformerSynced
	codecs := serializer.NewCodecFactory(broker.Scheme())
	for _, k := range firstKinds {
		c, err := apiutil.RESTClientForGVK(k.kind, false, false, config, codecs, &http.Client{Transport: config.Transport})
		if err != nil {
			return nil, fmt.Errorf("making a client: %w", err)
		}
		informer := toolscache.NewSharedIndexInformer(toolscache.NewListWatchFromClient(c, k.plural, objects.Clusterset, fields.Everything()), k.object, 0, nil)
		go informer.RunWithContext(ctx)
		stores, synced = append(stores, informer.GetStore()), append(synced, informer.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, ctx.Err()
	}
	return func() (firstReport, error) {
		return firstReport{Slices: len(stores[0].ListKeys()), Records: len(stores[1].ListKeys())}, nil
	}, nil
}

// viewFirst reads everything as an agent does that connects to the broker (package core): with
// the same cache, indexes and handlers, in the same order.
func viewFirst(ctx context.Context, config *rest.Config) (count func() (firstReport, error), err error) {
	const self = names.ClusterID("importer")
	var changes kit.Changes[kit.Scope]
	published := make(chan kit.Scope, 1)
	defer changes.Subscribe(func(of kit.Scope) {
		select {
		case published <- of:
		default:
		}
	})()
	v := view.New(objects.Clusterset, self, func(names.ClusterID) bool { return false }, &changes)
	for i := range fleetSize {
		v.Want(types.NamespacedName{Namespace: firstNamespace(i)}, true)
	}
	accepts := border.New(self, v.Wants, border.NewBudget(border.DefaultLimits, v.Room))
	scheme := broker.Scheme()
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	checked := cache.ByObject{Transform: accepts.Transform}
	from, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper, NewInformer: lifecycle.NewInformer, DefaultTransform: kit.Trim,
		DefaultFieldSelector: fields.OneTermEqualSelector("metadata.namespace", objects.Clusterset), DefaultUnsafeDisableDeepCopy: ptr.To(true),
		ByObject: map[client.Object]cache.ByObject{
			&discoveryv1.EndpointSlice{}: checked, &brokerv1alpha1.ExportedService{}: checked, &brokerv1alpha1.MemberCluster{}: checked,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making a cache: %w", err)
	}
	if err := layout.Index(ctx, from, self); err != nil {
		return nil, err
	}
	go func() { _ = from.Start(ctx) }() // fails only if it runs already
	began := time.Now()
	if err := kit.Follow(ctx, from, &brokerv1alpha1.MemberCluster{}, ignore); err != nil {
		return nil, err
	}
	var group errgroup.Group
	var cached time.Duration
	group.Go(func() error {
		if err := kit.Follow(ctx, from, &discoveryv1.EndpointSlice{}, accepts.ForgetDeleted); err != nil {
			return err
		}
		cached = time.Since(began)
		return kit.Follow(ctx, from, &brokerv1alpha1.ExportedService{}, ignore)
	})
	group.Go(func() error { return v.Follow(ctx, view.Connection{Cache: from, Border: accepts}) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	changes.Publish(kit.Scope{})
	if of := <-published; of != (kit.Scope{}) {
		return nil, fmt.Errorf("the view published %v before it was complete", of)
	}
	return func() (firstReport, error) {
		all, err := believed(v)
		all.Cached = cached
		return all, err
	}, nil
}

// ignore is an agent's own handler: it mostly sees that an object is not this cluster's.
func ignore[O client.Object](context.Context, kit.Event[O]) {}

// believed counts what a view answers, and fails if it has no content of a slice.
func believed(v *view.View) (all firstReport, err error) {
	for _, key := range v.Slices() {
		slice, known := v.Slice(key.Member, key.Slice)
		if !known || slice == nil || slice.State != border.Full || len(slice.Value.Endpoints) == 0 {
			return all, fmt.Errorf("the view has no content of the slice %v", key)
		}
		all.Slices++
	}
	for _, service := range v.Services() {
		records, awaited := v.Service(service)
		if len(awaited) > 0 {
			return all, errors.New("the view awaits records")
		}
		all.Records += len(records)
	}
	return all, nil
}
