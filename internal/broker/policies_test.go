package broker

import (
	"context"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

func policyFor(service string) *brokerv1alpha1.ServicePolicy {
	return &brokerv1alpha1.ServicePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: service + ".shop"},
		Spec:       brokerv1alpha1.ServicePolicySpec{ServiceNamespace: "shop", ServiceName: service, Scope: brokerv1alpha1.ScopeClusterset},
	}
}

// word is what a hub says that has policies for some services.
func word(services ...string) *brokerv1alpha1.Hub {
	var set PolicySet
	for _, s := range services {
		set.Add(policyFor(s).Name)
	}
	return &brokerv1alpha1.Hub{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: brokerv1alpha1.HubName}, Spec: set.Word()}
}

// A policy counts from when it is there, and until the hub says that it is withdrawn.
func TestPolicyIsWithdrawnByTheHubsWordAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		// The fake one does not end its first events with a bookmark.
		c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(policyFor("a"), word("a")).Build(), interceptor.Funcs{
			Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
				if o := (&client.ListOptions{}).ApplyOptions(opts); o.Raw != nil && o.Raw.SendInitialEvents != nil {
					return nil, apierrors.NewBadRequest("no first events")
				}
				return c.Watch(ctx, list, opts...)
			},
		})
		v := &View{policies: newPolicies(c, settled(c))}
		told := map[string]int{}
		v.OnPolicy(func(service types.NamespacedName, _ bool) { told[service.Name]++ })
		ended := make(chan struct{})
		go func() { v.policies.run(ctx); close(ended) }()
		defer func() { cancel(); <-ended; synctest.Wait() }()

		expect := func(when string, complete bool, services ...string) {
			t.Helper()
			synctest.Wait()
			for _, s := range []string{"a", "b"} {
				want := false
				for _, w := range services {
					want = want || s == w
				}
				if got := v.Policy(types.NamespacedName{Namespace: "shop", Name: s}) != nil; got != want {
					t.Errorf("%s: there is a policy for %s: %t", when, s, got)
				}
			}
			if got := v.PoliciesComplete(); got != complete {
				t.Errorf("%s: complete: %t", when, got)
			}
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := v.policies.await(ctx); err != nil {
			t.Fatal(err)
		}
		expect("at first", true, "a")
		do(c.Create(ctx, policyFor("b")))
		expect("one more, before the hub says so", false, "a", "b")
		hub := word("a", "b")
		do(c.Get(ctx, client.ObjectKeyFromObject(hub), hub))
		hub.Spec = word("a", "b").Spec
		do(c.Update(ctx, hub))
		expect("the hub says so", true, "a", "b")

		do(c.Delete(ctx, policyFor("a")))
		expect("one is gone, and the hub has said nothing", false, "a", "b")
		do(c.Delete(ctx, hub))
		expect("the hub's word is gone too", false, "a", "b")
		do(c.Create(ctx, word("b")))
		expect("the hub says that it is withdrawn", true, "b")
		if told["a"] != 2 || told["b"] != 1 {
			t.Errorf("told %v times", told)
		}
	})
}

// A broker from before there were policies has none, and does not hold up its members.
func TestBrokerWithoutPolicies(t *testing.T) {
	for _, refusal := range []error{
		apierrors.NewNotFound(schema.GroupResource{}, ""), apierrors.NewForbidden(schema.GroupResource{}, "", nil),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(Scheme()).Build(), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refusal },
			Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
				return nil, refusal
			},
		})
		p := newPolicies(c, settled(c))
		go p.run(ctx)
		if err := p.await(ctx); err != nil || p.complete() {
			t.Errorf("%v: %v, complete: %t", refusal, err, p.complete())
		}
		cancel()
	}
}

// The digest is of the set, in whatever order its names have come and gone.
func TestPolicySet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]{1,4}\.[ab]`), 1, 8, rapid.ID).Draw(t, "names")
		var all, without, only PolicySet
		for _, n := range rapid.Permutation(names).Draw(t, "order") {
			all.Add(n)
		}
		for _, n := range names[1:] {
			without.Add(n)
		}
		if all.Word() == without.Word() {
			t.Fatalf("%v and %v say the same", names, names[1:])
		}
		all.Remove(names[0])
		if all.Word() != without.Word() {
			t.Fatalf("%v without %s is %v", names, names[0], all.Word())
		}
		for _, n := range names[1:] {
			all.Remove(n)
		}
		if all.Word() != only.Word() {
			t.Fatalf("nothing is %v", all.Word())
		}
	})
}
