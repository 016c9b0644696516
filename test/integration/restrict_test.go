package integration

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// as returns the client of a user in c1.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	config, err := theLab.RESTConfig("c1")
	noError(t, err)
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: on["c1"].Scheme()})
	noError(t, err)
	return c
}

// isForbidden returns nil if err is a Forbidden error.
func isForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("want Forbidden, got %v", err)
}

// bind gives a user of c1 a role in a namespace, or in the whole cluster if namespace is "".
func bind(t *testing.T, user, namespace string, role rbacv1.RoleRef) {
	t.Helper()
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	role.APIGroup = rbacv1.GroupName
	if namespace != "" {
		create(t, "c1", &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, RoleRef: role, Subjects: subjects})
		return
	}
	temporary(t, "c1", &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "test-" + user}, RoleRef: role, Subjects: subjects})
}

// Kubernetes' default roles let users export and read. Only the agent may write ServiceImports.
func TestRightsOfUsers(t *testing.T) {
	const ns = "rights"
	ctx := t.Context()
	namespace(t, ns, "c1")
	create(t, "c1", service(ns, "web", 80))
	for _, role := range []string{"view", "edit", "admin"} {
		bind(t, "user-"+role, ns, rbacv1.RoleRef{Kind: "ClusterRole", Name: role})
	}
	e := export(ns, "web")
	create(t, "c1", e)
	imp := expectImport(t, "c1", ns, "web", from("c1"))
	for _, role := range []string{"view", "edit", "admin"} {
		user := as(t, "user-"+role)
		eventually(t, role+" sees both kinds", func() error { // the roles are aggregated by a controller
			if err := user.Get(ctx, client.ObjectKeyFromObject(e), export(ns, "web")); err != nil {
				return err
			}
			return user.List(ctx, &mcsv1beta1.ServiceImportList{}, client.InNamespace(ns))
		})
		expectForbidden(t, role+": creating a ServiceImport", user.Create(ctx, objects.Import(ns, "other")))
		expectForbidden(t, role+": changing a ServiceImport", user.Update(ctx, imp.DeepCopy()))
		expectForbidden(t, role+": deleting a ServiceImport", user.Delete(ctx, imp.DeepCopy()))
		expectForbidden(t, role+": the status of a ServiceImport", user.Status().Update(ctx, imp.DeepCopy()))
		expectForbidden(t, role+": the status of a ServiceExport", user.Status().Update(ctx, e.DeepCopy()))
		mine := export(ns, "by-"+role)
		if role == "view" {
			expectForbidden(t, "view: creating a ServiceExport", user.Create(ctx, mine))
			expectForbidden(t, "view: deleting a ServiceExport", user.Delete(ctx, e.DeepCopy()))
			continue
		}
		eventually(t, role+" creates a ServiceExport", func() error { return user.Create(ctx, mine) })
		patched := mine.DeepCopy()
		patched.Labels = map[string]string{"x": "y"}
		planes.Succeeds(t, role+": changing a ServiceExport", user.Patch(ctx, patched, client.MergeFrom(mine)))
		planes.Succeeds(t, role+": deleting a ServiceExport", user.Delete(ctx, mine))
	}

	// All rights in a namespace are not enough to write a ServiceImport there; all rights in the cluster are.
	all := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	create(t, "c1", &rbacv1.Role{ObjectMeta: objects.Meta(ns, "everything"), Rules: all})
	bind(t, "owner", ns, rbacv1.RoleRef{Kind: "Role", Name: "everything"})
	bind(t, "operator", "", rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"})
	owner, operator := as(t, "owner"), as(t, "operator")
	eventually(t, "the owner exports", func() error { return owner.Create(ctx, export(ns, "by-owner")) })
	const words = "create a ServiceExport beside the Service instead"
	eventually(t, "the policy holds", func() error { return isForbidden(owner.Create(ctx, objects.Import(ns, "probe"), client.DryRunAll)) })
	expectForbidden(t, "creating a ServiceImport", owner.Create(ctx, objects.Import(ns, "other")), words)
	changed := imp.DeepCopy()
	changed.Spec.Ports[0].Port = 81
	expectForbidden(t, "changing a ServiceImport", owner.Patch(ctx, changed, client.MergeFrom(imp)), words)
	changed.Status.Clusters = nil
	expectForbidden(t, "changing its status", owner.Status().Patch(ctx, changed, client.MergeFrom(imp)), words)
	expectForbidden(t, "deleting a ServiceImport", owner.Delete(ctx, imp.DeepCopy()), words)
	expectForbidden(t, "deleting all ServiceImports", owner.DeleteAllOf(ctx, &mcsv1beta1.ServiceImport{}, client.InNamespace(ns)), words)
	expectImport(t, "c1", ns, "web", from("c1"))

	// Cluster administrators may write ServiceImports, and the system's controllers may delete
	// them.
	foreign := objects.Import(ns, "other")
	planes.Succeeds(t, "a cluster administrator", operator.Create(ctx, foreign))
	remove(t, "c1", objects.Namespace(ns))
	expectGone(t, "c1", objects.Namespace(ns))
}

// KEP-1645, "Restricting Exports".
func TestExportsAreRefusedUnlessAllowed(t *testing.T) {
	ctx := t.Context()
	for _, ns := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		expectRefused(t, ns)
		setExports(t, ns, "allowed")
		e := expectAllowed(t, ns)
		setExports(t, ns, "")
		expectRefused(t, ns)
		// Existing exports stay, and users can change and delete them.
		change(t, "c1", e, func(e *mcsv1beta1.ServiceExport) { e.Labels = map[string]string{"x": "y"} })
		noError(t, on["c1"].Delete(ctx, e))
	}
	const ns = "unexported"
	namespace(t, ns, "c1")
	remove(t, "c1", expectAllowed(t, ns))
	for _, value := range []string{"refused", "Allowed"} {
		setExports(t, ns, value)
		expectRefused(t, ns)
	}
	setExports(t, ns, "allowed")
	remove(t, "c1", expectAllowed(t, ns))
}

// setExports sets the exports label of a namespace in c1, or removes it if value is "".
func setExports(t *testing.T, namespace, value string) {
	t.Helper()
	mark(t, "c1", namespace, "labels", "atoll.dev/exports", value)
}

// expectRefused waits until the API server refuses exports from a namespace of c1, then tries
// as a cluster administrator.
func expectRefused(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "exports from "+namespace+" are refused", func() error {
		return isForbidden(on["c1"].Create(t.Context(), export(namespace, "probe"), client.DryRunAll))
	})
	expectForbidden(t, "exporting from "+namespace, on["c1"].Create(t.Context(), export(namespace, "refused")),
		"kubectl label namespace "+namespace+" --overwrite atoll.dev/exports=allowed --context CONTEXT_OF_THIS_CLUSTER")
}

// expectAllowed waits until the API server allows exports from a namespace of c1.
func expectAllowed(t *testing.T, namespace string) *mcsv1beta1.ServiceExport {
	t.Helper()
	e := export(namespace, "allowed")
	eventually(t, "exports from "+namespace+" are allowed", func() error { return on["c1"].Create(t.Context(), e) })
	planes.CleanUp(t, on["c1"], e)
	return e
}
