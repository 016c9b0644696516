package clusterset

import (
	"context"
	"fmt"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	mcsclient "sigs.k8s.io/mcs-api/pkg/client/clientset/versioned/typed/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// sliceSelector selects the EndpointSlices of imported services.
const sliceSelector = names.LabelServiceName + "," + names.LabelSourceCluster

// listerWatchers returns the sources of ServiceImports and EndpointSlices. It makes no request yet.
func listerWatchers(config *rest.Config) (imports, slices cache.ListerWatcher, err error) {
	config = rest.CopyConfig(config)
	// A rate limit would only delay the first answers; two watches are no load.
	config.QPS = -1
	rest.AddUserAgent(config, pluginName)

	importClient, err := mcsclient.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client for ServiceImports: %w", err)
	}
	// Only built-in types support protobuf.
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	sliceClient, err := discoveryclient.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client for EndpointSlices: %w", err)
	}
	imports = report(cache.NewFilteredListWatchFromClient(importClient.RESTClient(),
		"serviceimports", metav1.NamespaceAll, func(*metav1.ListOptions) {}), "ServiceImports")
	slices = report(cache.NewFilteredListWatchFromClient(sliceClient.RESTClient(),
		"endpointslices", metav1.NamespaceAll, func(o *metav1.ListOptions) { o.LabelSelector = sliceSelector }), "EndpointSlices")
	return imports, slices, nil
}

// watch keeps the index current until ctx is done, and returns when all its goroutines have ended.
func (c *Clusterset) watch(ctx context.Context, imports, slices cache.ListerWatcher) {
	ctx = klog.NewContext(ctx, logger())
	known := newObjects()
	var running sync.WaitGroup
	running.Go(func() {
		reflect(ctx, imports, &mcsv1beta1.ServiceImport{}, importStore(known))
	})
	running.Go(func() {
		reflect(ctx, slices, &discoveryv1.EndpointSlice{}, sliceStore(known))
	})
	c.follow(ctx, known)
	running.Wait()
}

// reflect mirrors the API server's objects to the store until ctx is done. After an error it lists and watches again.
func reflect(ctx context.Context, from cache.ListerWatcher, kind runtime.Object, to cache.ReflectorStore) {
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(from, kind, to, cache.ReflectorOptions{
		Name:   pluginName,
		Logger: &logger,
		// client-go's default backoff of up to a minute would also delay recovery by that much. Retries of two watches
		// every few seconds are harmless.
		Backoff: &wait.Backoff{
			Duration: 200 * time.Millisecond,
			Factor:   2,
			Jitter:   1,
			Cap:      2 * time.Second,
			Steps:    10,
		},
	}).RunWithContext(ctx)
}

// follow rebuilds the answers of changed services until ctx is done. Changes that arrive during a build are merged.
func (c *Clusterset) follow(ctx context.Context, known *objects) {
	var synced sync.Once
	for {
		select {
		case <-ctx.Done():
			return
		case <-known.changed:
		}
		start := time.Now()
		all, ok := known.take()
		if !ok {
			continue
		}
		c.apply(all.services)
		c.observe(all, start)
		synced.Do(func() { close(c.synced) })
	}
}

// apply writes the services' answers into the index.
func (c *Clusterset) apply(services []change) {
	for _, change := range services {
		for _, z := range c.zones {
			if z.reverse != nil {
				continue
			}
			made := z.builder.build(change, z.services.get(change.key))
			z.services.set(change.key, made.answers)
			if c.names != nil && z == c.zones[0] {
				c.names.replace(made.gone, made.come)
			}
		}
	}
	if len(services) > 0 {
		c.serial.Store(uint32(time.Now().Unix()))
	}
}
