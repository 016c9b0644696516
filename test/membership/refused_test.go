package membership

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// Commands report an impossible operation and its fix before they change anything. Pitfall 34:
// a cluster cannot join with another cluster's id.
func TestCommandsRefuse(t *testing.T) {
	before := inventory(t, "c1")
	refused(t, "", "broker token create c1 --context broker --clusterset none --server https://b",
		"there is no clusterset none on the API server", "atoll broker deploy --clusterset none --context broker")
	deployBroker(t)
	refused(t, "", "broker deploy --context broker --clusterset kube-system", "may write EndpointSlices and Leases", "--clusterset NAME")
	create(t, lab.Broker, namespace("taken"))
	refused(t, "", "broker deploy --context broker --clusterset taken", "already exists, and does not belong to a clusterset",
		"kubectl label namespace taken atoll.dev/clusterset=taken --context broker")
	refused(t, "", "broker token create c1 --context broker", "which other machines cannot reach", "--server https://HOST:PORT")
	refused(t, "", "broker token create c1 --context nowhere", `context "nowhere" does not exist`)

	file := joinFile(t, "c1")
	refused(t, "", "join /no/such/file --context c1", "no such file")
	refused(t, "kind: Config\napiVersion: v1", "join - --context c1", `its kind is "Config"`, "atoll broker token create CLUSTER")
	refused(t, file, "join - --context c1 --cluster-id c7", `is for cluster "c1", not for cluster "c7"`, "atoll broker token create c7")
	wrong := strings.Replace(file, server(t), "https://127.0.0.1:1", 1)
	refused(t, wrong, "join - --context c1", "cannot be reached from this machine", "--broker-server URL", "--offline")
	c2, err := theLab.Spec.Cluster("c2")
	noError(t, err)
	refused(t, strings.Replace(file, server(t), "https://"+c2.APIServer.String(), 1), "join - --context c1", "is not the broker of the join file")
	refused(t, file, "join - --dry-run --context c1 --broker-server https://"+c2.APIServer.String(), "is not the broker of the join file")
	m, err := credential.ParseJoinFile([]byte(file))
	noError(t, err)
	m.Token = forge(t, m.Token, -2*3600, -3600)
	expired, err := m.JoinFile()
	noError(t, err)
	refused(t, string(expired), "join - --context c1", "does not accept the token: the token expired 1h0m", "atoll broker token create c1 --clusterset atoll-clusterset")
	limited(t)
	refused(t, file, "join - --context limited", "lacks the permission to create and patch: clusterproperties, clusterrolebindings, ", "permissions of a cluster administrator: --context")
	refused(t, "", "leave --yes --context limited", "lacks the permission to delete and list: clusterrolebindings, ")
	expectInventory(t, "c1", before, "test-limited")

	// c2 has taken the id.
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c2")
	create(t, lab.Broker, objects.Member("c1"))
	refused(t, file, "join - --context c1", "the join file was already used, was revoked, or was replaced by a newer join file")
	refused(t, joinFile(t, "c1"), "join - --context c1", `cluster id "c1" belongs to another cluster`, "atoll broker members remove c1")
	refused(t, joinFile(t, "c3"), "join - --context c2", `already a member with the cluster id "c1"`, "atoll leave --context ")
	expectInventory(t, "c1", before, "test-limited")
	must(t, "", "leave --yes --context c2")
}

// A cluster that has another cluster's id, because its Secret was copied, can leave without
// touching the other cluster's objects on the broker. Pitfall 34.
func TestLeavingWithAnIDThatIsAnothers(t *testing.T) {
	const ns = "clone"
	deployBroker(t)
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	before := inventory(t, "c2")
	must(t, joinFile(t, "c2"), "join - --no-workloads --context c2")
	stop := startAgent(t, asAgent(t, "c1"), t.Output())
	create(t, "c1", namespace(ns), service(ns, "web"), export(ns, "web"))
	expectImport(t, "c1", ns, "web", "c1")

	_, owners := membershipOf(t, "c1")
	_, copied := membershipOf(t, "c2")
	copied.Data = owners.Data
	noError(t, on["c2"].Update(t.Context(), copied))
	for _, mode := range []string{"--dry-run ", ""} {
		r := atoll("", "leave --yes "+mode+"--context c2")
		if r.Status != 0 || !strings.Contains(r.Stderr, `cluster id "c1" belongs to another cluster`) || strings.Contains(r.Stdout, "ExportedService") {
			t.Errorf("leave %s: status %d\n%s\n%s", mode, r.Status, r.Stdout, r.Stderr)
		}
	}
	expectInventory(t, "c2", before)
	for _, o := range []client.Object{
		objects.Member("c1"), objects.Lease("c1"), objects.Record("c1", ns, "web"), &corev1.ServiceAccount{ObjectMeta: objects.Meta(place, "member-c1")},
	} {
		planes.Read(t, on[lab.Broker], o) // the owner's
	}
	create(t, "c1", service(ns, "late"), export(ns, "late"))
	expectImport(t, "c1", ns, "late", "c1") // the owner goes on
	must(t, "", "broker members remove c2 --yes --context broker --force")
	for _, name := range []string{"web", "late"} { // their definition stays as long as there are any
		planes.Delete(t, on["c1"], export(ns, name))
	}
	stop()
	must(t, "", "leave --yes --context c1")
}

// limited adds a context for a user of c1 with read-only permissions.
func limited(t *testing.T) {
	t.Helper()
	config, err := theLab.UserKubeconfig("c1", "nobody")
	noError(t, err)
	text := strings.NewReplacer("name: c1\n", "name: limited\n", "cluster: c1\n", "cluster: limited\n", "user: c1\n", "user: limited\n").Replace(string(config))
	t.Setenv("KUBECONFIG", theLab.Kubeconfig()+":"+write(t, "limited", text))
	bind := func(name, role string) client.Object {
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: objects.Meta("", name), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "nobody"}},
		}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: objects.Meta("", "test-limited"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "about.k8s.io"}, Resources: []string{"namespaces", "secrets", "clusterproperties"}, Verbs: []string{"get", "list"}},
	}}
	create(t, "c1", bind("test-limited", "view"), role, bind("test-limited-more", "test-limited"))
	limitedConfig, err := clientcmd.RESTConfigFromKubeConfig(config)
	noError(t, err)
	kube := kubernetes.NewForConfigOrDie(limitedConfig)
	eventually(t, "the rights count", func() error {
		_, view := kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{Limit: 1})
		_, more := kube.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{Limit: 1})
		return errors.Join(view, more)
	})
}

// unapproved is a CRD of ServiceExports in a version that Atoll does not use.
const unapproved = `
metadata: {name: serviceexports.multicluster.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: multicluster.x-k8s.io
  scope: Namespaced
  names: {kind: ServiceExport, listKind: ServiceExportList, plural: serviceexports, singular: serviceexport}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// Joining respects CRDs and ClusterProperties of other products.
func TestJoinRespectsWhatIsThere(t *testing.T) {
	deployBroker(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	noError(t, yaml.Unmarshal([]byte(unapproved), crd))
	if err := on["c1"].Delete(t.Context(), crd.DeepCopy()); client.IgnoreNotFound(err) != nil { // another test may have left the CRD
		t.Fatal(err)
	}
	expectGone(t, "c1", crd.DeepCopy())
	create(t, "c1", crd)
	file := joinFile(t, "c1")
	eventually(t, "the other definition is served", func() error {
		old := &unstructured.UnstructuredList{}
		old.SetAPIVersion("multicluster.x-k8s.io/v1alpha1")
		old.SetKind("ServiceExportList")
		return on["c1"].List(t.Context(), old)
	})
	for _, mode := range []string{"--dry-run", ""} {
		refused(t, file, "join - --context c1 "+mode, "CustomResourceDefinition serviceexports.multicluster.x-k8s.io: another product installed a CustomResourceDefinition with this name",
			"does not serve v1beta1", "--replace-crds")
	}
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1 --replace-crds")
	must(t, "", "leave --yes --context c1")

	// The cluster has an id before it joins.
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	property := &aboutv1beta1.ClusterProperty{ObjectMeta: metav1.ObjectMeta{Name: aboutv1beta1.ClusterIDProperty}}
	planes.Change(t, on["c1"], property, func(p *aboutv1beta1.ClusterProperty) { p.Labels, p.Spec.Value = nil, "prod" }) // as if a user had created it
	must(t, "", "leave --yes --context c1")
	planes.Succeeds(t, "reading the user's property", on["c1"].Get(t.Context(), client.ObjectKeyFromObject(property), property))
	refused(t, joinFile(t, "c1"), "join - --context c1", `ClusterProperty cluster.clusterset.k8s.io has the value "prod"`, "atoll broker token create prod")
	must(t, joinFile(t, "prod"), "join - --no-workloads --context c1")
	must(t, "", "leave --yes --context c1")
	planes.Succeeds(t, "somebody else's property", on["c1"].Delete(t.Context(), property))
}

// A broker can have several clustersets. Their members do not affect each other.
func TestTwoClustersets(t *testing.T) {
	deployBroker(t)
	must(t, "", "broker deploy --context broker --clusterset staging")
	refused(t, "", "broker token create c1 --context broker --clusterset other --server "+server(t), "The existing clustersets are atoll-clusterset, staging")
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	must(t, joinFile(t, "c1", "--clusterset staging"), "join - --no-workloads --context c2")
	refused(t, joinFile(t, "c1", "--clusterset staging"), "join - --context c1", `already a member of clusterset "atoll-clusterset"`, "atoll leave --context ")
	stopFirst, stopSecond := startAgent(t, asAgent(t, "c1"), t.Output()), startAgent(t, asAgent(t, "c2"), t.Output())
	for _, c := range []string{"c1", "c2"} {
		create(t, c, namespace("sets"), service("sets", "web"), export("sets", "web"))
		expectImport(t, c, "sets", "web", "c1") // both clusters have the id c1
	}
	m, _ := membershipOf(t, "c1")
	as := asMember(t, m)
	for what, err := range map[string]error{
		"reading the other set's records": as.List(t.Context(), &brokerv1alpha1.ExportedServiceList{}, client.InNamespace("staging")),
		"reading Secrets":                 as.List(t.Context(), &corev1.SecretList{}, client.InNamespace("atoll-clusterset")),
	} {
		expectForbidden(t, what, err)
	}
	stopFirst()
	must(t, "", "leave --yes --context c1")
	expectImport(t, "c2", "sets", "web", "c1")
	refused(t, "", "broker members remove c1 --yes --context broker --clusterset staging", "seems to be alive", "--force")
	stopSecond()
	must(t, "", "leave --yes --context c2")
	planes.Delete(t, on[lab.Broker], namespace("staging"))
	expectGone(t, lab.Broker, namespace("staging"))
	for _, c := range []string{"c1", "c2"} {
		if left := fmt.Sprint(inventory(t, c)); strings.Contains(left, "atoll") {
			t.Errorf("%s has after leaving: %s", c, left)
		}
	}
}
