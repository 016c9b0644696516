package membership

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/credential"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
)

var update = flag.Bool("update", false, "write the list of attempts into the manual")

// place is the clusterset's namespace.
const place = broker.DefaultNamespace

func entry(id string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: place, Name: id, Labels: map[string]string{names.LabelSourceCluster: id}}
}

func memberOf(id string) *brokerv1alpha1.MemberCluster {
	return &brokerv1alpha1.MemberCluster{ObjectMeta: entry(id), Spec: brokerv1alpha1.MemberClusterSpec{
		ClusterID: id, ClusterUID: "u-" + id, AdvertiseMode: brokerv1alpha1.AdvertisePods,
	}}
}

func leaseOf(id string) *coordinationv1.Lease { return &coordinationv1.Lease{ObjectMeta: entry(id)} }

func recordOf(id, namespace, service string) *brokerv1alpha1.ExportedService {
	meta := entry(id)
	meta.Name = service + "." + namespace + "." + id
	return &brokerv1alpha1.ExportedService{ObjectMeta: meta, Spec: brokerv1alpha1.ExportedServiceSpec{
		ClusterID: id, ServiceNamespace: namespace, ServiceName: service, ExportedAt: metav1.Now(), Type: mcsv1beta1.ClusterSetIP,
	}}
}

func sliceOf(id, namespace, name string) *discoveryv1.EndpointSlice {
	meta := entry(id)
	meta.Name = name + "." + namespace + "." + id
	meta.Labels[names.LabelServiceNamespace] = namespace
	meta.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	return &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4}
}

// allowedTo is what the broker's owner says of one member.
func allowedTo(id string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: names.AllowedRanges}, Data: map[string]string{id: "10.2.0.0/16"}}
}

// altered is an object with a change.
func altered[T client.Object](object T, change func(T)) T {
	change(object)
	return object
}

// attempt is something that a hostile member tries.
type attempt struct {
	what string
	do   func(context.Context, client.Client) error
}

func creating(what string, object client.Object) attempt {
	return attempt{"creating " + what, func(ctx context.Context, c client.Client) error { return c.Create(ctx, object) }}
}

func deleting(what string, object client.Object) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error { return c.Delete(ctx, object) }}
}

func deletingAll(what string, of client.Object) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error {
		return c.DeleteAllOf(ctx, of, client.InNamespace(place))
	}}
}

func patching(what string, object client.Object, patch string) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
	}}
}

func listing(what string, list client.ObjectList, in string) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error { return c.List(ctx, list, client.InNamespace(in)) }}
}

// token asks for a token of an account.
func token(what, account string, spec authenticationv1.TokenRequestSpec) attempt {
	return attempt{"asking for " + what, func(ctx context.Context, c client.Client) error {
		of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: account}}
		return c.SubResource("token").Create(ctx, of, &authenticationv1.TokenRequest{Spec: spec})
	}}
}

// server-side apply, which neither creates nor updates by that name.
func applying(what string, object client.Object, kind string) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error {
		object.GetObjectKind().SetGroupVersionKind(brokerv1alpha1.GroupVersion.WithKind(kind))
		data, err := json.Marshal(object)
		if err != nil {
			return err
		}
		return c.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("mallory"), client.ForceOwnership)
	}}
}

// attempts are those of c2 against c1, c1.eu, the clusterset, and the broker's own cluster. eu is
// a member too, with an id that c1.eu's ends with.
func attempts() []attempt {
	type meta = metav1.ObjectMeta
	in := func(name string) meta { return meta{Namespace: place, Name: name} }
	long := authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(30 * 24 * time.Hour / time.Second))}
	return []attempt{
		// What is another member's.
		creating("a member of another id", memberOf("c9")),
		creating("an entry with another's name", altered(memberOf("c2"), func(m *brokerv1alpha1.MemberCluster) { m.Name = "c9" })),
		creating("an entry with another's id in it", altered(memberOf("c2"), func(m *brokerv1alpha1.MemberCluster) { m.Spec.ClusterID = "c9" })),
		patching("changing another's entry", memberOf("c1"), `{"spec":{"region":"nowhere"}}`),
		patching("taking another's entry over", memberOf("c1"), `{"metadata":{"labels":{"multicluster.kubernetes.io/source-cluster":"c2"}}}`),
		patching("giving its own entry away", memberOf("c2"), `{"metadata":{"labels":{"multicluster.kubernetes.io/source-cluster":"c1"}}}`),
		patching("calling itself another", memberOf("c2"), `{"spec":{"clusterID":"c1"}}`),
		deleting("deleting another's entry", memberOf("c1")),
		deletingAll("deleting all entries", &brokerv1alpha1.MemberCluster{}),
		applying("applying another's entry", memberOf("c1"), "MemberCluster"),
		creating("another's heartbeat", leaseOf("c9")),
		creating("a heartbeat with another's name", altered(leaseOf("c2"), func(l *coordinationv1.Lease) { l.Name = "c9" })),
		patching("stopping another's heartbeat", leaseOf("c1"), `{"spec":{"renewTime":"1970-01-01T00:00:00.000000Z"}}`),
		deleting("deleting another's heartbeat", leaseOf("c1")),
		deletingAll("deleting all heartbeats", &coordinationv1.Lease{}),
		creating("a record of another's", recordOf("c1", "shop", "db")),
		creating("a record with another's name", altered(recordOf("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Name = "db.shop.c1" })),
		creating("a record with another's id", altered(recordOf("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Spec.ClusterID = "c1" })),
		patching("changing another's record", recordOf("c1", "shop", "web"), `{"spec":{"exportedAt":"2020-02-02T00:00:00Z"}}`),
		patching("having its own record be of another service", recordOf("c2", "shop", "web"), `{"spec":{"serviceName":"db"}}`),
		deleting("deleting another's record", recordOf("c1", "shop", "web")),
		deletingAll("deleting all records", &brokerv1alpha1.ExportedService{}),
		applying("applying another's record", recordOf("c1", "shop", "web"), "ExportedService"),
		creating("a slice of another's", sliceOf("c1", "shop", "db")),
		creating("a slice of nobody's", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) { delete(s.Labels, names.LabelSourceCluster) })),
		creating("a slice with the name of another's", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) { s.Name = "db.shop.c1" })),
		patching("adding endpoints to another's slice", sliceOf("c1", "shop", "web"), `{"endpoints":[{"addresses":["10.9.9.9"]}]}`),
		deleting("deleting another's slice", sliceOf("c1", "shop", "web")),
		deletingAll("deleting all slices", &discoveryv1.EndpointSlice{}),
		// What is nobody's to do.
		creating("a slice of a Service of the broker's", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "kubernetes" })),
		creating("a slice that the broker's own controller manages", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) {
			s.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
		})),
		creating("a record that can't be deleted", altered(recordOf("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Finalizers = []string{"mallory.example/stay"} })),
		patching("an entry that can't be deleted", memberOf("c2"), `{"metadata":{"finalizers":["mallory.example/stay"]}}`),
		creating("a record older than the API", altered(recordOf("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Spec.ExportedAt = metav1.Unix(0, 0) })),
		creating("a record of a service with a dot", recordOf("c2", "shop.x", "db")),
		creating("a catalogue entry without its name", &mcsv1beta1.ServiceImport{ObjectMeta: in("db.shop"), Spec: mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless, Ports: []mcsv1beta1.ServicePort{}}}),
		// What the broker's cluster has besides.
		listing("reading Secrets", &corev1.SecretList{}, place),
		listing("reading everybody's Secrets", &corev1.SecretList{}, ""),
		listing("reading ConfigMaps", &corev1.ConfigMapList{}, place),
		// What the broker's owner allows it, which it may read.
		patching("having more addresses be allowed", allowedTo("c2"), `{"data":{"c2":"0.0.0.0/0"}}`),
		patching("having nothing be allowed to another", allowedTo("c2"), `{"data":{"c1":""}}`),
		{"writing what is allowed", func(ctx context.Context, c client.Client) error { return c.Update(ctx, allowedTo("c2")) }},
		{"applying what is allowed", func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, allowedTo("c2"), client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{}}`)), client.FieldOwner("mallory"), client.ForceOwnership)
		}},
		creating("anew what is allowed", allowedTo("c2")),
		deleting("deleting what is allowed", allowedTo("c2")),
		deletingAll("deleting all ConfigMaps", &corev1.ConfigMap{}),
		{"deleting what is allowed, as one of all", func(ctx context.Context, c client.Client) error {
			return c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(place), client.MatchingFields{"metadata.name": names.AllowedRanges})
		}},
		creating("a ConfigMap", &corev1.ConfigMap{ObjectMeta: in("mallory")}),
		listing("reading accounts", &corev1.ServiceAccountList{}, place),
		listing("reading another clusterset's records", &brokerv1alpha1.ExportedServiceList{}, "staging"),
		listing("reading another clusterset's heartbeats", &coordinationv1.LeaseList{}, "staging"),
		listing("reading all slices", &discoveryv1.EndpointSliceList{}, ""),
		creating("a record in another clusterset", altered(recordOf("c2", "shop", "web"), func(e *brokerv1alpha1.ExportedService) { e.Namespace = "staging" })),
		creating("a slice in the broker's own namespace", altered(sliceOf("c2", "shop", "web"), func(s *discoveryv1.EndpointSlice) { s.Namespace = "default" })),
		creating("a Service", &corev1.Service{ObjectMeta: in("web"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}),
		creating("a pod", &corev1.Pod{ObjectMeta: in("shell"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}),
		creating("a Secret that gets another's token", &corev1.Secret{
			ObjectMeta: meta{Namespace: place, Name: "token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "member-c1"}}, Type: corev1.SecretTypeServiceAccountToken,
		}),
		creating("an account", &corev1.ServiceAccount{ObjectMeta: in("member-c9")}),
		creating("a role for itself", &rbacv1.RoleBinding{
			ObjectMeta: in("more"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: place, Name: "member-c2"}},
		}),
		creating("a namespace", &corev1.Namespace{ObjectMeta: meta{Name: "mallory"}}),
		deleting("deleting the clusterset", &corev1.Namespace{ObjectMeta: meta{Name: place}}),
		deleting("deleting another's account", &corev1.ServiceAccount{ObjectMeta: in("member-c1")}),
		token("another's token", "member-c1", authenticationv1.TokenRequestSpec{}),
		token("a token of another's join file", "join-c1", authenticationv1.TokenRequestSpec{}),
		token("a token for a month", "member-c2", long),
	}
}

// attemptsOfEU are those of eu against c1.eu, whose id ends with its own, and whose names it could take.
func attemptsOfEU() []attempt {
	return []attempt{
		creating("a record with a name of c1.eu's", altered(recordOf("eu", "shop.c1", "db"), func(*brokerv1alpha1.ExportedService) {})),
		creating("a slice with a name of c1.eu's", altered(sliceOf("eu", "c1", "db"), func(s *discoveryv1.EndpointSlice) { s.Name = "db.shop.c1.eu" })),
		creating("a slice with such a name, of a namespace with a dot", sliceOf("eu", "shop.c1", "db")),
		deleting("a record of c1.eu's", recordOf("c1.eu", "shop", "web")),
	}
}

const asAdministrator = "acting as an administrator"

// Pitfall 35: whatever a member tries with its own credentials, it writes, deletes and reads what
// is its own, and nothing else.
func TestHostileMember(t *testing.T) {
	must(t, "", "broker deploy --context broker")
	must(t, "", "broker deploy --context broker --namespace staging")
	asMembers, memberships := map[string]client.Client{}, map[string]credential.Membership{}
	for _, id := range []string{"c1", "c2", "eu", "c1.eu"} {
		memberships[id] = invited(t, id)
		asMembers[id] = asMember(t, memberships[id])
		t.Cleanup(func() { must(t, "", "broker remove "+id+" --context broker --force") })
		for _, o := range []client.Object{memberOf(id), leaseOf(id), recordOf(id, "shop", "web"), sliceOf(id, "shop", "web")} {
			if err := asMembers[id].Create(t.Context(), o); err != nil {
				t.Fatalf("what is its own, %T: %v", o, err)
			}
		}
	}
	must(t, "", "broker ranges set c2 10.2.0.0/16 --context broker")
	allowAnyAfterwards(t)
	before := inventory(t, lab.Broker)
	all := attempts()
	for _, a := range all {
		expectRefused(t, a.what, a.do(t.Context(), asMembers["c2"]))
	}
	ofEU := attemptsOfEU()
	for _, a := range ofEU {
		expectRefused(t, a.what, a.do(t.Context(), asMembers["eu"]))
	}
	config := broker.NewToken(memberships["c2"].Token, nil).Config(memberships["c2"])
	config.Impersonate = rest.ImpersonationConfig{UserName: "kubernetes-admin", Groups: []string{"system:masters"}}
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	expectRefused(t, asAdministrator, err)
	t.Logf("%d attempts", len(all)+len(ofEU)+1)
	expectListed(t, append(append(all, ofEU...), attempt{what: asAdministrator}))
	expectInventory(t, lab.Broker, before)
	for what, read := range map[string]func(client.Client) ([]corev1.ConfigMap, error){
		"get": func(c client.Client) ([]corev1.ConfigMap, error) {
			have := allowedTo("")
			err := c.Get(t.Context(), client.ObjectKeyFromObject(have), have)
			return []corev1.ConfigMap{*have}, err
		},
		"list": func(c client.Client) ([]corev1.ConfigMap, error) {
			list := &corev1.ConfigMapList{}
			err := c.List(t.Context(), list, client.InNamespace(place), client.MatchingFields{"metadata.name": names.AllowedRanges})
			return list.Items, err
		},
	} {
		if have, err := read(asMembers["c2"]); err != nil || len(have) != 1 || len(have[0].Data) != 1 || have[0].Data["c2"] != "10.2.0.0/16" {
			t.Errorf("what is allowed, as %s shows it, is %+v, %v", what, have, err)
		}
	}
	have := memberOf("c1")
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(have), have); err != nil || have.Spec.Region != "" {
		t.Errorf("c1's entry is %+v, %v", have.Spec, err)
	}
	if err := on[lab.Broker].Delete(t.Context(), namespace("staging")); err != nil {
		t.Error(err)
	}
	expectGone(t, lab.Broker, namespace("staging"))
}

// expectListed keeps the list of attempts in the manual true.
func expectListed(t *testing.T, all []attempt) {
	t.Helper()
	const manual, begin, end = "../../docs/security.md", "<!-- attempts -->\n", "<!-- /attempts -->"
	page, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for i, a := range all {
		fmt.Fprintf(&list, "%d. %s\n", i+1, a.what)
	}
	before, rest, _ := strings.Cut(string(page), begin)
	listed, after, ok := strings.Cut(rest, end)
	switch {
	case !ok:
		t.Errorf("%s has no place for the list of attempts", manual)
	case *update:
		if err := os.WriteFile(manual, []byte(before+begin+list.String()+end+after), 0o644); err != nil {
			t.Error(err)
		}
	case listed != list.String():
		t.Errorf("%s: the list of attempts is not true any more; go test ./test/membership -run TestHostileMember -args -update writes it", manual)
	}
}

// invited is what a member has got when it has joined.
func invited(t *testing.T, id string) credential.Membership {
	t.Helper()
	m, err := credential.ParseJoinFile([]byte(joinFile(t, id)))
	if err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: names.MemberAccount(m.ClusterID)}}
	if err := on[lab.Broker].SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	m.Token = request.Status.Token
	return m
}

// expectRefused wants the refusal of an authorizer or of an admission policy, and no other error.
func expectRefused(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s was allowed", what)
	case !strings.Contains(err.Error(), "is forbidden: User") && !strings.Contains(err.Error(), "denied request"):
		t.Errorf("%s failed for another reason: %v", what, err)
	}
}
