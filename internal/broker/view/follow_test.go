package view

import (
	"context"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// filling is a cache of policies whose events the test sends. It is complete when synced is closed.
type filling struct {
	cache.Cache
	toolscache.SharedIndexInformer
	handlers chan toolscache.ResourceEventHandler
	synced   chan struct{}
}

func (f filling) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return f, nil
}

func (f filling) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	f.handlers <- h
	return f, nil
}

func (filling) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error { return nil }

func (f filling) HasSyncedChecker() toolscache.DoneChecker { return f }
func (filling) Name() string                               { return "filling" }
func (f filling) Done() <-chan struct{}                    { return f.synced }

func (filling) IsStopped() bool { return false }

// While a cache fills, the view decides and publishes nothing, whatever the events are. When the
// cache is complete, the view answers with the last version of each object, and then follows.
func TestFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c := newClusterset()
		from := filling{handlers: make(chan toolscache.ResourceEventHandler, 1), synced: make(chan struct{})}
		c.from.Cache = from
		c.view.Events.Subscribe(func(key kit.Scope) { c.published = append(c.published, key) })
		followed := make(chan error, 1)
		go func() { followed <- c.view.policies.follow(ctx, c.from) }()
		handler := <-from.handlers

		stored := map[types.NamespacedName]*brokerv1alpha1.ServicePolicy{}
		change := func(service types.NamespacedName, edited, deleted bool) {
			of, before := service, stored[service]
			if edited {
				of.Name = "other"
			}
			c.versions++
			now := &brokerv1alpha1.ServicePolicy{
				ObjectMeta: metav1.ObjectMeta{Name: names.ServicePolicy(service.Namespace, service.Name), ResourceVersion: strconv.Itoa(c.versions)},
				Spec:       brokerv1alpha1.ServicePolicySpec{ServiceNamespace: of.Namespace, ServiceName: of.Name},
			}
			layout.SetRevision(now, int64(c.versions))
			switch {
			case before == nil:
				stored[service] = now
				handler.OnAdd(now, rapid.Bool().Draw(t, "initial"))
			case deleted:
				delete(stored, service)
				handler.OnDelete(before)
			default:
				stored[service] = now
				handler.OnUpdate(before, now)
			}
		}
		for range rapid.IntRange(0, 12).Draw(t, "changes") {
			change(rapid.SampledFrom(services).Draw(t, "service"), rapid.IntRange(0, 4).Draw(t, "edited") == 0, rapid.Bool().Draw(t, "deleted"))
			for _, service := range services {
				if _, known := c.view.Policy(service); known {
					t.Fatalf("the policy of %v is known before the cache is complete", service)
				}
			}
		}
		if len(c.published) > 0 {
			t.Fatalf("published before the cache is complete: %v", c.published)
		}
		close(from.synced)
		if err := <-followed; err != nil {
			t.Fatal(err)
		}
		if len(c.published) > 0 || len(c.asked) > 0 || c.view.Waits() {
			t.Fatalf("when the cache is complete: published %v, read %v", c.published, c.asked)
		}
		for _, service := range services {
			want := stored[service]
			if want != nil && want.Spec.Service() != service {
				want = nil
			}
			if policy, known := c.view.Policy(service); policy != want || !known {
				t.Fatalf("the policy of %v is %v, want %v", service, policy, want)
			}
		}
		change(services[0], false, false)
		if policy, _ := c.view.Policy(services[0]); policy != stored[services[0]] || len(c.published) == 0 {
			t.Fatalf("after a change the policy is %v, want %v; published were %v", policy, stored[services[0]], c.published)
		}
	})
}
