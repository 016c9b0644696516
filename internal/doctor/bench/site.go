package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/spread"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
)

// smallRequests is the number of timed requests.
const smallRequests = 5

// site is an API server with a namespace for this run.
type site struct {
	name, context, namespace string
	config                   *rest.Config
	member                   *trial.Member
	client                   client.WithWatch
	post                     *outpost.Outpost
	watcher                  *importWatcher
}

// each calls f for all sites concurrently.
func each(sites []*site, f func(int, *site) error) error {
	failed := make([]error, len(sites))
	var all sync.WaitGroup
	for i, s := range sites {
		all.Go(func() { failed[i] = f(i, s) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// open creates the namespace.
func (s *site) open(ctx context.Context, lifetime time.Duration) (err error) {
	config := rest.CopyConfig(s.config)
	config.QPS = -1
	if s.client, err = client.NewWithWatch(config, client.Options{Scheme: broker.Scheme()}); err != nil {
		return fmt.Errorf("%s: creating a client: %w", s.name, err)
	}
	s.post, err = outpost.Open(ctx, s.config, outpost.Options{Command: commandName, Name: s.namespace, Lifetime: lifetime})
	return s.withName(err)
}

// close deletes the namespace and waits until it is gone.
func (s *site) close(ctx context.Context) error {
	if s.post == nil {
		return nil
	}
	err := s.post.Close(ctx)
	if err == nil {
		err = s.post.AwaitGone(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w. To delete the namespace manually: %s", s.name, err, outpost.ByHand(s.context, s.namespace))
	}
	return nil
}

// followImports watches the imports in the site.
func (s *site) followImports(ctx context.Context) error {
	return s.withName(errors.Join(
		s.watcher.follow(ctx, s.client, s.namespace, &mcsv1beta1.ServiceImport{}, &mcsv1beta1.ServiceImportList{}),
		s.watcher.follow(ctx, s.client, s.namespace, &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}),
	))
}

// withName adds the site's name to an error.
func (s *site) withName(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

func (s *site) create(ctx context.Context, o client.Object) error {
	if err := s.client.Create(ctx, o); err != nil {
		return fmt.Errorf("%s: creating %T %s: %w", s.name, o, o.GetName(), err)
	}
	return nil
}

// update overwrites any version of the object.
func (s *site) update(ctx context.Context, o client.Object) error {
	if err := s.client.Update(ctx, o); err != nil {
		return fmt.Errorf("%s: updating %T %s: %w", s.name, o, o.GetName(), err)
	}
	return nil
}

func (s *site) remove(ctx context.Context, o client.Object) error {
	if err := client.IgnoreNotFound(s.client.Delete(ctx, o)); err != nil {
		return fmt.Errorf("%s: deleting %T %s: %w", s.name, o, o.GetName(), err)
	}
	return nil
}

// roundTrip returns the median time of some small requests, in milliseconds.
func (s *site) roundTrip(ctx context.Context) (float64, error) {
	var took []float64
	for range smallRequests {
		began := time.Now()
		if err := s.client.Get(ctx, client.ObjectKey{Name: s.namespace}, &corev1.Namespace{}); err != nil {
			return 0, fmt.Errorf("%s: reading namespace %s: %w", s.name, s.namespace, err)
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
	}
	return spread.Of(took).P50, nil
}
