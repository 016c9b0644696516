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
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/permissions"
)

// Permissions is a live copy of what the broker's administrators permit each member, from a ConfigMap that they alone may write
// (docs/adr/0033-permissions-of-members.md). The last content holds while the ConfigMap is missing or the broker can't be reached:
// to permit more, the administrators write it. The copy lasts as long as the membership, while views come and go.
type Permissions struct {
	namespace string
	log       *slog.Logger
	informer  cache.SharedIndexInformer
	seen      cache.ResourceEventHandlerRegistration // by the handler below, which follows the informer

	mu       sync.Mutex
	members  permissions.Members
	mistakes string // that were logged last
	warned   bool
	refused  time.Time // since when the broker has answered nothing but that this cluster may not see it
	handlers map[*func(names.ClusterID)]bool
}

// NewPermissions returns a copy for a clusterset that knows nothing until Start.
func NewPermissions(c client.WithWatch, namespace string, log *slog.Logger) *Permissions {
	return newPermissions(c, nil, namespace, log)
}

func newPermissions(c client.WithWatch, tap *informers.Tap, namespace string, log *slog.Logger) *Permissions {
	p := &Permissions{namespace: namespace, log: log, handlers: map[*func(names.ClusterID)]bool{}}
	p.informer = informers.NewTapped(p.withoutRight(c), tap, &corev1.ConfigMapList{}, &corev1.ConfigMap{}, nil,
		client.InNamespace(namespace), client.MatchingFields{metav1.ObjectNameField: names.MemberPermissions})
	// Fails only when the informer has stopped.
	p.seen, _ = p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.read(object.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, object any) { p.read(object.(*corev1.ConfigMap)) },
		DeleteFunc: func(any) { p.missing() },
	})
	return p
}

// Remember sets what holds until the ConfigMap has been read. It is called before Start.
func (p *Permissions) Remember(members permissions.Members) { p.members = maps.Clone(members) }

// Start keeps the copy current until ctx is done.
func (p *Permissions) Start(ctx context.Context) error {
	go func() {
		if p.Await(ctx) == nil && len(p.informer.GetStore().ListKeys()) == 0 && len(p.Known()) > 0 {
			p.missing()
		}
	}()
	p.informer.RunWithContext(ctx)
	return nil
}

// NeedLeaderElection makes the copy start on every replica, so that a new leader finds it filled.
func (p *Permissions) NeedLeaderElection() bool { return false }

// Synced tells whether it is known what the broker says.
func (p *Permissions) Synced() bool { return p.seen.HasSynced() }

// Await returns when it is known what the broker says, or with ctx's error.
func (p *Permissions) Await(ctx context.Context) error {
	return informers.Await(ctx, p.seen.HasSyncedChecker())
}

// RangesOf returns the ranges that a member's endpoints may be in, and false where they may have any address.
func (p *Permissions) RangesOf(cluster names.ClusterID) (ranges.Set, bool) {
	return p.Known().RangesOf(cluster)
}

// MayExport tells whether a member may export a namespace.
func (p *Permissions) MayExport(cluster names.ClusterID, namespace string) bool {
	return p.Known().MayExport(cluster, namespace)
}

// Known is all that holds. It is not changed any more.
func (p *Permissions) Known() permissions.Members {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members
}

// OnChange has f called with each member that is permitted something else than before, and permissions.Default for all of them, until
// off is called.
func (p *Permissions) OnChange(f func(names.ClusterID)) (off func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handlers[&f] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.handlers, &f)
	}
}

// read takes over what the administrators have written, and logs what of it is wrong, once.
func (p *Permissions) read(from *corev1.ConfigMap) {
	members, wrong := permissions.Read(from)
	var texts []string
	for _, m := range wrong {
		texts = append(texts, m.String())
	}
	mistakes := strings.Join(texts, "; ")
	p.mu.Lock()
	changed := permissions.Changed(p.members, members)
	news := mistakes != p.mistakes && mistakes != ""
	p.members, p.mistakes = members, mistakes
	handlers := slices.Collect(maps.Keys(p.handlers))
	p.mu.Unlock()
	if news {
		p.log.Warn("Some entries of the members' permissions are invalid and permit nothing. "+
			"Run on the broker: atoll broker members list --namespace "+p.namespace, "configmap", p.namespace+"/"+names.MemberPermissions, "mistakes", mistakes)
	}
	for _, id := range changed {
		for _, f := range handlers {
			(*f)(id)
		}
	}
}

// missing logs that the last content still holds.
func (p *Permissions) missing() {
	if len(p.Known()) > 0 {
		p.log.Warn("The ConfigMap with the members' permissions is missing. Its last content holds until there is one again. "+
			"Run on the broker: atoll broker members set CLUSTER --namespace "+p.namespace, "configmap", p.namespace+"/"+names.MemberPermissions)
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
func (p *Permissions) withoutRight(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if p.mayNot(apierrors.IsForbidden(err)) {
				p.warnOnce(err)
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
func (p *Permissions) mayNot(refused bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !refused:
		p.refused = time.Time{}
	case p.refused.IsZero():
		p.refused = time.Now()
	}
	return refused && time.Since(p.refused) >= doubtful
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

// warnOnce logs that an older version has deployed the broker.
func (p *Permissions) warnOnce(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.warned {
		p.log.Info("This cluster may not read what members are permitted, so it restricts none. "+
			"Run on the broker: atoll broker deploy --namespace "+p.namespace, "reason", err)
		p.warned = true
	}
}
