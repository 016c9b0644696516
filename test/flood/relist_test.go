package flood

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/planes"
)

// members is the number of members whose caches follow a broker.
const members = 500

// watchedKinds are the kinds that an agent's cache of the broker has.
var watchedKinds = []client.Object{
	&brokerv1alpha1.ExportedService{}, &brokerv1alpha1.MemberCluster{}, &brokerv1alpha1.ServicePolicy{}, &discoveryv1.EndpointSlice{}, &mcsv1beta1.ServiceImport{},
}

// After a restart of the broker's API server, the caches of 500 members follow it again within half a minute, though each reads
// everything again: the members' pauses and the fairness of the API server spread the load. The test logs when lists and
// watches began.
func TestRelists(t *testing.T) {
	if testing.Short() || !planes.Nightly() {
		t.Skip("needs API servers, and some minutes: nightly")
	}
	b := newBed(t)
	admin, err := b.Lab.RESTConfig(lab.Broker)
	planes.NoError(t, err)
	planes.Create(t, b.On[lab.Broker], &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: broker.DefaultNamespace, Name: "all-members"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rights.MemberRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: accounts}},
	})
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for n := range members {
		c := cacheOf(t, b, admin, n)
		all.Go(func() { _ = c.Start(ctx) })
		if n%20 == 19 { // do not begin all at once
			c.WaitForCacheSync(ctx)
		}
	}
	defer func() {
		cancel()
		all.Wait()
	}()
	log, err := audit.Open(b.Lab.AuditLog(lab.Broker))
	planes.NoError(t, err)
	planes.NoError(t, b.Lab.Kill(t.Context(), lab.Broker+"/apiserver"))
	planes.NoError(t, bed.Pause(t.Context(), 10*time.Second))
	planes.NoError(t, b.Lab.Start(t.Context(), lab.Broker+"/apiserver"))
	planes.NoError(t, bed.Pause(t.Context(), time.Minute))
	requests, err := log.Requests()
	planes.NoError(t, err)
	codes, at := map[string]int{}, []time.Time{}
	for _, w := range requests {
		if w.Verb == "list" || w.Verb == "watch" {
			codes[fmt.Sprintf("%s %d", w.Verb, w.Code)]++
			at = append(at, w.At)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	for _, p := range []int{1, 10, 50, 90, 99} {
		t.Logf("%d %% of %d requests after %v", p, len(at), after(at, p).Round(time.Millisecond))
	}
	perSecond := map[int]int{}
	for _, a := range at {
		perSecond[int(a.Sub(at[0])/time.Second)]++
	}
	t.Log("requests by second:", perSecond, "by response:", codes)
	if last := after(at, 99); last > 30*time.Second {
		t.Errorf("members read everything again for %v", last)
	}
	by := bystander{b: b}
	if open := by.watches(t); int(open) < members*len(watchedKinds) {
		t.Errorf("only %.0f watches follow the broker again", open)
	}
}

// after returns after which time a percentage of the requests had begun.
func after(at []time.Time, percent int) time.Duration { return at[(len(at)-1)*percent/100].Sub(at[0]) }

const accounts = "system:serviceaccounts:" + broker.DefaultNamespace

// cacheOf returns a cache as an agent's, with a connection of its own.
func cacheOf(t *testing.T, b *bed.Bed, admin *rest.Config, n int) cache.Cache {
	t.Helper()
	name := fmt.Sprintf("member-m%d", n)
	planes.Create(t, b.On[lab.Broker], &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: broker.DefaultNamespace, Name: name}})
	config := planes.AsAccount(t, b.On[lab.Broker], admin, broker.DefaultNamespace, name)
	config.Dial = (&net.Dialer{}).DialContext
	c, err := cache.New(config, cache.Options{Scheme: planes.Scheme(), DefaultNamespaces: map[string]cache.Config{broker.DefaultNamespace: {}}, NewInformer: lifecycle.NewInformerOf(func() int { return members })})
	planes.NoError(t, err)
	for _, o := range watchedKinds {
		_, err := c.GetInformer(t.Context(), o, cache.BlockUntilSynced(false))
		planes.NoError(t, err)
	}
	return c
}
