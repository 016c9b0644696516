package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// rare are the granted verbs that a short life does not need for certain, with the reason.
var rare = map[string]string{
	"atoll-hub delete broker.atoll.dev/servicepolicies": "the hub deletes a policy ten minutes after it has withdrawn the policy",
	"atoll-hub get broker.atoll.dev/servicepolicies":    "the hub reads a policy that exists although its cache does not show it yet",
	"member- get multicluster.x-k8s.io/serviceimports":  "a member reads an entry that exists although its cache does not show it yet",
}

// slow are the verbs with which objects are read that somebody has deleted on the broker, after a comparison each minute.
var slow = []string{
	"atoll-hub get broker.atoll.dev/exportedservices", "atoll-hub get discovery.k8s.io/endpointslices", "atoll-hub list coordination.k8s.io/leases",
	"member- get broker.atoll.dev/exportedservices", "member- get broker.atoll.dev/servicepolicies",
}

// granted returns all verbs of the broker's accounts, as "ACCOUNT VERB GROUP/RESOURCE". Members and join files have
// one kind of account each.
func granted() map[string]bool {
	all, made := map[string]bool{}, &corev1.ServiceAccount{}
	for account, of := range map[string][]client.Object{
		names.MemberAccountPrefix: slices.Concat(rights.Objects(place), rights.Member(place, "c1").Rights(made)),
		names.JoinerAccountPrefix: rights.Joiner(place, "c1").Rights(made),
		names.HubAccount:          rights.HubAccess(place),
	} {
		for _, o := range of {
			if role, ok := o.(*rbacv1.Role); ok {
				maps.Copy(all, verbsOf(account, role.Rules))
			}
		}
	}
	return all
}

func verbsOf(account string, rules []rbacv1.PolicyRule) map[string]bool {
	all := map[string]bool{}
	for _, r := range rules {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				all[use(account, verb, r.APIGroups[0], resource)] = true
			}
		}
	}
	return all
}

func use(account, verb, group, resource string) string {
	return fmt.Sprintf("%s %s %s/%s", account, verb, group, resource)
}

// usedBy returns what a request uses. Requests of others, and those outside the clusterset, use nothing.
func usedBy(w audit.Write) (uses []string) {
	account, ok := strings.CutPrefix(w.User, "system:serviceaccount:")
	if inside := w.Namespace == place || w.Resource == "namespaces" && w.Name == place; !ok || !inside {
		return nil
	}
	namespace, account, _ := strings.Cut(account, ":")
	for _, prefix := range []string{names.MemberAccountPrefix, names.JoinerAccountPrefix} {
		if namespace == place && strings.HasPrefix(account, prefix) {
			account = prefix
		}
	}
	resource := w.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	uses = []string{use(account, w.Verb, w.Group, resource)}
	switch {
	case w.Verb == "watch": // where the API server does not stream lists, a reflector lists
		uses = append(uses, use(account, "list", w.Group, resource))
	case w.Verb == "patch" && w.Code == http.StatusCreated:
		uses = append(uses, use(account, "create", w.Group, resource))
	}
	return uses
}

// Members, join files and the hub have exactly the verbs that they use: the test compares the broker's audit log of
// their lives with their roles. The broker refuses one request: the dry run that tries whether members are isolated.
func TestEachVerbIsUsed(t *testing.T) {
	log, err := audit.Open(theLab.AuditLog(lab.Broker))
	noError(t, err)
	unused, isolation := granted(), 0
	read := func() {
		requests, err := log.Requests()
		noError(t, err)
		for _, w := range requests {
			uses := usedBy(w)
			switch {
			case len(uses) == 0:
			case w.Verb == "create" && w.Resource == "memberclusters" && (w.Code == http.StatusForbidden || w.Code == http.StatusUnprocessableEntity):
				isolation++
			case w.Code == http.StatusForbidden:
				t.Errorf("the broker refuses %s: %s", w.User, w)
			}
			for _, use := range uses {
				delete(unused, use)
			}
		}
	}
	live(t, func(verb string) {
		eventually(t, verb, func() error {
			if read(); unused[verb] {
				return errors.New("not used")
			}
			return nil
		})
	})
	read()
	if isolation < 2 { // each leader tries at its start
		t.Errorf("two members have tried the isolation %d times", isolation)
	}
	for _, verb := range slices.Sorted(maps.Keys(unused)) {
		if reason, ok := rare[verb]; ok {
			t.Logf("not used in this run: %s: %s", verb, reason)
		} else if planes.Nightly() || !slices.Contains(slow, verb) {
			t.Errorf("granted, but not used: %s", verb)
		}
	}
}

// live makes two members and a hub do all that they do on a broker. awaitUse waits until a verb is used.
func live(t *testing.T, awaitUse func(verb string)) {
	t.Helper()
	const ns, late = "life", "life-late"
	deployBroker(t)
	restartHub := deployHub(t, "", func(o *hub.Options) {
		o.Addresses, o.ProviderOptions, o.AllowUnsetRanges = []string{"127.77.77.0/24"}, []string{"drain=100ms"}, true
	})
	stop := map[string]func(){}
	for _, c := range []string{"c1", "c2"} {
		must(t, joinFile(t, c), "join - --no-workloads --context "+c)
		m, secret := membershipOf(t, c)
		setToken(t, c, secret, forge(t, m.Token, -2*24*3600, 5*24*3600)) // so old that the agent renews it
		create(t, c, namespace(ns))
		stop[c] = startAgent(t, asAgent(t, c), t.Output())
	}
	create(t, "c1", namespace(late))
	balanced := service(ns, "balanced")
	balanced.Spec.Ports[0].Port = 18080
	create(t, lab.Broker, namespace(ns), service(ns, "exposed"), balanced)
	for _, name := range []types.NamespacedName{{Namespace: ns, Name: "web"}, {Namespace: ns, Name: "balanced"}, {Namespace: late, Name: "web"}} {
		create(t, "c1", service(name.Namespace, name.Name), objects.Slice(name.Namespace, name.Name+"-x", name.Name, "10.201.1.1"))
	}
	create(t, "c1", export(ns, "web"), export(late, "web"))
	create(t, "c2", service(ns, "exposed"))
	exposed := expose(t, ns, "exposed")
	balancing := objects.Exposed(ns, "balanced", networkingv1alpha1.ExposureTypeCrossCluster, networkingv1alpha1.ExposureTypeLoadBalancer)
	planes.Create(t, on[lab.Broker], balancing)
	planes.CleanUp(t, on[lab.Broker], balancing)
	expectImport(t, "c2", ns, "web", "c1")
	expectImport(t, "c1", ns, "exposed", "c2")
	expectImport(t, "c2", ns, "balanced", "c1")
	planes.Change(t, on[lab.Broker], exposed, func(m *networkingv1alpha1.MultiClusterService) { m.Spec.Range.ClusterNames = []string{"c1", "c2"} })

	// Changes by users, and a second exporter.
	planes.Change(t, on["c1"], objects.Slice(ns, "web-x", "web"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.201.1.2"} })
	planes.Change(t, on["c1"], service(ns, "web"), func(s *corev1.Service) { s.Spec.Ports[0].AppProtocol = ptr.To("http") })
	expectEndpoint(t, "c2", ns, "10.201.1.2")
	create(t, "c2", service(ns, "web"), export(ns, "web"))
	expectImport(t, "c1", ns, "web", "c1", "c2")
	entry := &mcsv1beta1.ServiceImport{ObjectMeta: objects.Meta(place, names.CatalogueEntry(ns, "web"))}
	planes.Until(t, "the catalogue names both", on[lab.Broker], entry, func() error {
		if clusters := entry.Annotations[names.AnnotationClusters]; clusters != "c1,c2" {
			return fmt.Errorf("it names %s", clusters)
		}
		return nil
	})
	create(t, "c2", namespace(late)) // its slices are read without the cache, which has only their metadata
	expectEndpoint(t, "c2", late, "10.201.1.1")

	if planes.Nightly() {
		stop["c1"] = deletedOnBroker(t, ns, exposed, stop["c1"], restartHub, awaitUse)
	}
	planes.Delete(t, on["c2"], export(ns, "web"))
	expectImport(t, "c1", ns, "web", "c1")
	for _, c := range []string{"c1", "c2"} {
		stop[c]()
		must(t, "", "leave --yes --context "+c)
	}
}

// deletedOnBroker deletes objects on the broker while their owner does not run, and does not want them any more. It
// returns what stops c1's agent.
func deletedOnBroker(t *testing.T, ns string, exposed client.Object, stop func(), restartHub func(...func()), awaitUse func(string)) func() {
	t.Helper()
	stop()
	planes.Delete(t, on["c1"], service(ns, "balanced"), objects.Slice(ns, "balanced-x", "balanced"))
	planes.Delete(t, on[lab.Broker], &brokerv1alpha1.ExportedService{ObjectMeta: objects.Meta(place, names.Export("c1", ns, "balanced"))},
		&discoveryv1.EndpointSlice{ObjectMeta: objects.Meta(place, names.BrokerSlice("c1", ns, "balanced-x"))})
	stop = startAgent(t, asAgent(t, "c1"), t.Output())
	expectGone(t, "c2", objects.Import(ns, "balanced"))
	awaitUse(slow[0])
	awaitUse(slow[1])
	restartHub(func() {
		planes.Delete(t, on[lab.Broker], exposed, &brokerv1alpha1.ServicePolicy{ObjectMeta: objects.Meta(place, names.ServicePolicy(ns, "exposed"))})
	})
	for range 2 { // members read the policy after two comparisons: a hub compares at its start, else once a minute
		awaitHeartbeat(t, names.HubOwner.String())
		awaitHeartbeat(t, "c2")
		restartHub()
	}
	awaitUse(slow[4])
	planes.PolicyExport(t, on["c2"], ns, "exposed", false)
	return stop
}

// awaitHeartbeat waits until a Lease on the broker is renewed.
func awaitHeartbeat(t *testing.T, name string) {
	t.Helper()
	now, lease := metav1.NowMicro(), &coordinationv1.Lease{ObjectMeta: objects.Meta(place, name)}
	planes.Until(t, name+" renews its Lease", on[lab.Broker], lease, func() error {
		if lease.Spec.RenewTime.Before(&now) {
			return errors.New("it has not")
		}
		return nil
	})
}

// expectEndpoint waits until a cluster has imported an endpoint.
func expectEndpoint(t *testing.T, cluster, namespace, address string) {
	t.Helper()
	eventually(t, cluster+" has imported "+address, func() error {
		all, err := planes.Endpoints(context.Background(), on[cluster], client.InNamespace(namespace))
		if err != nil || !slices.Contains(all, address) {
			return fmt.Errorf("the endpoints are %v, %w", all, err)
		}
		return nil
	})
}
