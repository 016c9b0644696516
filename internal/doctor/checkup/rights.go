package checkup

import (
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// rights checks the permissions of the user and of Atoll's ServiceAccounts.
func (r *reader) rights() {
	c := r.cluster
	if c.Survey.Server == "" {
		c.MayInstall = setup.MayJoin(r.ctx, r.target)
		return
	}
	c.Agent = r.account(render.AgentName, deploy.Agent())
	c.DNS = r.account(render.DNSName, deploy.DNS())
	if b := c.Survey.Broker; b != nil {
		c.OnBroker = check.Rights{Checked: true, Missing: missing(b.Rights, memberRules(c.Survey.Clusterset))}
	}
}

// account checks the permissions in Atoll's manifests that one of its ServiceAccounts lacks.
func (r *reader) account(name string, manifests [][]byte) check.Rights {
	return r.may(names.SystemNamespace, name, requirements(name, install.MustParse(manifests...)))
}

// requirement is one permission.
type requirement struct{ verb, group, resource, name, namespace string }

// String formats the permission for messages.
func (q requirement) String() string {
	resource := q.resource
	if q.group != "" {
		resource += "." + q.group
	}
	return q.verb + " " + resource
}

// requirements returns the permissions of the ClusterRole and Role of that name.
func requirements(name string, objects []*unstructured.Unstructured) []requirement {
	var all []requirement
	for _, o := range objects {
		if kind := o.GetKind(); o.GetName() != name || kind != "ClusterRole" && kind != "Role" {
			continue
		}
		var role rbacv1.Role // a ClusterRole has its rules in the same field
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			panic(err) // cannot happen: our own manifests
		}
		all = append(all, flat(role.Rules, o.GetNamespace())...)
	}
	return all
}

func flat(rules []rbacv1.PolicyRule, namespace string) []requirement {
	var all []requirement
	for _, rule := range rules {
		objects := rule.ResourceNames
		if len(objects) == 0 {
			objects = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, object := range objects {
						all = append(all, requirement{verb, group, resource, object, namespace})
					}
				}
			}
		}
	}
	return all
}

// may asks the API server about each permission of a ServiceAccount.
func (r *reader) may(namespace, account string, all []requirement) check.Rights {
	user := "system:serviceaccount:" + namespace + ":" + account
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	lacks, errs := make([]bool, len(all)), make([]error, len(all))
	each(len(all), func(i int) { lacks[i], errs[i] = r.lacks(user, groups, all[i]) })
	rights := check.Rights{Checked: true}
	for i, q := range all {
		if errs[i] != nil {
			return check.Rights{Err: fmt.Errorf("checking the permissions of %s: %w", user, errs[i])}
		}
		if text := q.String(); lacks[i] && !slices.Contains(rights.Missing, text) {
			rights.Missing = append(rights.Missing, text)
		}
	}
	return rights
}

func (r *reader) lacks(user string, groups []string, q requirement) (bool, error) {
	resource, sub, _ := strings.Cut(q.resource, "/")
	review, err := r.kube.AuthorizationV1().SubjectAccessReviews().Create(r.ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: q.verb, Group: q.group, Resource: resource, Subresource: sub, Name: q.name, Namespace: q.namespace,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return !review.Status.Allowed, nil
}

// memberRules returns the permissions of a clusterset's members on the broker.
func memberRules(clusterset string) []requirement {
	for _, o := range rights.Objects(clusterset) {
		if role, ok := o.(*rbacv1.Role); ok {
			return flat(role.Rules, clusterset)
		}
	}
	return nil
}

// missing returns the requirements that the rules do not grant.
func missing(rules []authorizationv1.ResourceRule, wanted []requirement) []string {
	var all []string
	has := func(list []string, one string) bool { return slices.Contains(list, one) || slices.Contains(list, "*") }
	for _, q := range wanted {
		given := slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
			return has(rule.Verbs, q.verb) && has(rule.APIGroups, q.group) && has(rule.Resources, q.resource) &&
				(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, q.name))
		})
		if text := q.String(); !given && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
