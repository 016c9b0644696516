package checkup

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// reads returns a reader of a cluster with objects and an empty survey.
func reads(t *testing.T, objects ...runtime.Object) (*reader, *fake.Clientset) {
	kube := fake.NewClientset(objects...)
	return &reader{ctx: t.Context(), cluster: &check.Cluster{Survey: &survey.Survey{}}, kube: kube}, kube
}

func TestMissing(t *testing.T) {
	rule := func(verbs, group, resources string, objects ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{Verbs: strings.Fields(verbs), APIGroups: []string{group}, Resources: strings.Fields(resources), ResourceNames: objects}
	}
	wanted := []requirement{{"get", "g", "a", "", ""}, {"update", "g", "a", "", ""}, {"get", "", "configmaps", "one", ""}, {"get", "", "configmaps", "two", ""}}
	for name, tt := range map[string]struct {
		rules []authorizationv1.ResourceRule
		want  []string
	}{
		"nothing":                    {nil, []string{"get a.g", "update a.g", "get configmaps"}},
		"all":                        {[]authorizationv1.ResourceRule{rule("get update", "g", "a"), rule("get", "", "configmaps", "one", "two")}, nil},
		"by several rules":           {[]authorizationv1.ResourceRule{rule("get", "g", "a b"), rule("update", "g", "a"), rule("get", "", "configmaps")}, nil},
		"cluster-admin":              {[]authorizationv1.ResourceRule{rule("*", "*", "*")}, nil},
		"another group":              {[]authorizationv1.ResourceRule{rule("*", "h", "*"), rule("get", "", "configmaps")}, []string{"get a.g", "update a.g"}},
		"another name":               {[]authorizationv1.ResourceRule{rule("*", "g", "a"), rule("get", "", "configmaps", "one")}, []string{"get configmaps"}},
		"only for one named object":  {[]authorizationv1.ResourceRule{rule("*", "g", "a", "x"), rule("*", "", "*")}, []string{"get a.g", "update a.g"}},
		"the verb of another object": {[]authorizationv1.ResourceRule{rule("get", "g", "a"), rule("update", "g", "b"), rule("*", "", "*")}, []string{"update a.g"}},
	} {
		if got := missing(tt.rules, wanted); !slices.Equal(got, tt.want) {
			t.Errorf("%s: missing %q, want %q", name, got, tt.want)
		}
	}
}

// A member with the role from the broker's manifests has all permissions, and each rule of the
// role is necessary.
func TestMemberRules(t *testing.T) {
	all := memberRules("set")
	var rules []authorizationv1.ResourceRule
	for _, q := range all {
		r := authorizationv1.ResourceRule{Verbs: []string{q.verb}, APIGroups: []string{q.group}, Resources: []string{q.resource}}
		if q.name != "" {
			r.ResourceNames = []string{q.name}
		}
		rules = append(rules, r)
	}
	if got := missing(rules, all); len(got) > 0 || len(all) < 20 {
		t.Errorf("of %d permissions, %q are missing", len(all), got)
	}
	for i, q := range all {
		if got := missing(slices.Delete(slices.Clone(rules), i, i+1), all); !slices.Equal(got, []string{q.String()}) {
			t.Errorf("without %q, %q are missing", q, got)
		}
	}
}

func TestRequirements(t *testing.T) {
	for name, manifests := range map[string][][]byte{render.AgentName: deploy.Agent(), render.DNSName: deploy.DNS()} {
		objects := install.MustParse(manifests...)
		all := requirements(name, objects)
		if !slices.Contains(all, requirement{"list", "multicluster.x-k8s.io", "serviceimports", "", ""}) {
			t.Errorf("%s needs %v", name, all)
		}
		if len(requirements("another", objects)) > 0 {
			t.Error("another role has permissions")
		}
	}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"g"}, Resources: []string{"a", "a/status"}, Verbs: []string{"get"}, ResourceNames: []string{"x", "y"}}}
	want := []requirement{{"get", "g", "a", "x", "n"}, {"get", "g", "a", "y", "n"}, {"get", "g", "a/status", "x", "n"}, {"get", "g", "a/status", "y", "n"}}
	if got := flat(rules, "n"); !slices.Equal(got, want) {
		t.Errorf("the rules are %v", got)
	}
}

// checkup asks the API server about each permission of a ServiceAccount, with its groups.
func TestMay(t *testing.T) {
	r, kube := reads(t)
	var fails error
	kube.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		if spec := review.Spec; spec.User != "system:serviceaccount:n:agent" || !slices.Contains(spec.Groups, "system:serviceaccounts:n") || !slices.Contains(spec.Groups, "system:authenticated") {
			t.Errorf("the review is about %+v", spec)
		}
		at := review.Spec.ResourceAttributes
		review.Status.Allowed = at.Verb == "get" && (at.Resource != "a" || at.Subresource == "status" && at.Group == "g" && at.Name == "x" && at.Namespace == "n")
		return true, review, fails
	})
	all := []requirement{{"get", "", "b", "", ""}, {"get", "g", "a/status", "x", "n"}, {"get", "g", "a", "x", "n"}, {"list", "", "b", "", ""}, {"list", "", "b", "", "n"}}
	if got := r.may("n", "agent", all); !got.Checked || got.Err != nil || !slices.Equal(got.Missing, []string{"get a.g", "list b"}) {
		t.Errorf("the result is %+v", got)
	}
	fails = errors.New("no reviews")
	if got := r.may("n", "agent", all); !errors.Is(got.Err, fails) || got.Checked || got.Missing != nil {
		t.Errorf("without answers: %+v", got)
	}
}

func TestNames(t *testing.T) {
	of := func(id, context string) check.Cluster {
		return check.Cluster{Context: context, Survey: &survey.Survey{ClusterID: names.ClusterID(id)}}
	}
	for name, tt := range map[string]struct {
		clusters []check.Cluster
		want     []string
	}{
		"members":                {[]check.Cluster{of("c1", "a"), of("c2", "b")}, []string{"c1", "c2"}},
		"two of the same id":     {[]check.Cluster{of("c1", "a"), of("c1", "b"), of("c2", "c")}, []string{"a", "b", "c2"}},
		"not joined":             {[]check.Cluster{of("", "a"), of("", "b")}, []string{"a", "b"}},
		"the current context":    {[]check.Cluster{of("", "")}, []string{"this cluster"}},
		"an unreachable cluster": {[]check.Cluster{{Context: "a"}, of("c1", "b")}, []string{"a", "c1"}},
	} {
		e := &check.Evidence{Clusters: tt.clusters}
		call(e)
		var got []string
		for _, c := range e.Clusters {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: they are called %q, want %q", name, got, tt.want)
		}
	}
}

func TestNodes(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus, unschedulable bool) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: unschedulable, PodCIDRs: []string{"10.1." + name + ".0/24"}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: "True"}, {Type: corev1.NodeReady, Status: ready}}},
		}
	}
	r, _ := reads(t, node("1", "True", false), node("2", "False", false), node("3", "True", true), node("4", "Unknown", false),
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}})
	r.nodes()
	r.addresses()
	if c := r.cluster; c.Nodes != 4 || c.ReadyNodes != 1 || len(c.Pods) != 4 || !slices.Equal(c.Services, []string{"10.96.0.0/16"}) {
		t.Errorf("nodes %d, ready %d, pods %v, Services %v", c.Nodes, c.ReadyNodes, c.Pods, c.Services)
	}
	r.cluster.Survey = &survey.Survey{ClusterID: "c1", Broker: &survey.Broker{Members: []brokerv1alpha1.MemberCluster{
		{ObjectMeta: metav1.ObjectMeta{Name: "c1"}, Spec: brokerv1alpha1.MemberClusterSpec{PodCIDRs: []string{"10.1.0.0/16"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: brokerv1alpha1.MemberClusterSpec{PodCIDRs: []string{"10.2.0.0/16"}}},
	}}}
	if r.addresses(); !slices.Equal(r.cluster.Pods, []string{"10.1.0.0/16"}) {
		t.Errorf("the agent's ranges are %v", r.cluster.Pods)
	}
}

// Before Kubernetes 1.33, the ranges come from the agent's arguments or from its record.
func TestGivenRanges(t *testing.T) {
	agent := appsv1.Deployment{}
	agent.Spec.Template.Spec.Containers = []corev1.Container{{Args: []string{"--pod-cidr=10.1.0.0/16,fd01::/48", "--service-cidr", "10.96.0.0/16", "--service-cidr=fd00::/108", "--service-cidr"}}}
	r, _ := reads(t)
	r.cluster.Survey.Cluster.Deployments = map[string]appsv1.Deployment{render.AgentName: agent}
	r.cluster.Pods = []string{"10.9.0.0/24"}
	r.addresses()
	if c := r.cluster; !slices.Equal(c.Pods, []string{"10.1.0.0/16", "fd01::/48"}) || !slices.Equal(c.Services, []string{"10.96.0.0/16", "fd00::/108"}) {
		t.Errorf("pods %v, Services %v", c.Pods, c.Services)
	}
	r, _ = reads(t)
	r.cluster.Survey = &survey.Survey{ClusterID: "c1", Broker: &survey.Broker{Members: []brokerv1alpha1.MemberCluster{
		{ObjectMeta: metav1.ObjectMeta{Name: "c1"}, Spec: brokerv1alpha1.MemberClusterSpec{ServiceCIDRs: []string{"10.97.0.0/16"}}},
	}}}
	if r.addresses(); !slices.Equal(r.cluster.Services, []string{"10.97.0.0/16"}) {
		t.Errorf("the record's ranges are %v", r.cluster.Services)
	}
}

func TestRunning(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase, host bool, ips ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{HostNetwork: host}, Status: corev1.PodStatus{Phase: phase}}
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		return p
	}
	r, kube := reads(t, pod("a", corev1.PodRunning, false, "10.1.0.5", "fd00::5"), pod("b", corev1.PodRunning, true, "172.18.0.2"), pod("c", corev1.PodSucceeded, false, "10.1.0.6"), pod("d", corev1.PodRunning, false))
	r.running()
	want := []check.PodAddress{{Pod: "shop/a", IP: netip.MustParseAddr("10.1.0.5")}, {Pod: "shop/a", IP: netip.MustParseAddr("fd00::5")}}
	if c := r.cluster; c.PodsUnread != nil || !slices.Equal(c.Running, want) {
		t.Errorf("%v, %v", c.Running, c.PodsUnread)
	}
	fails := errors.New("forbidden")
	kube.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, fails })
	if r.running(); !errors.Is(r.cluster.PodsUnread, fails) {
		t.Errorf("the error is %v", r.cluster.PodsUnread)
	}
}

func TestServices(t *testing.T) {
	service := func(namespace, name string, ips ...string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{ClusterIPs: ips}}
	}
	for name, tt := range map[string]struct {
		objects  []runtime.Object
		dns, own string
		proxy    bool
	}{
		"kube-dns": {[]runtime.Object{service("kube-system", "kube-dns", "10.96.0.10"), service("kube-system", "coredns", "10.96.0.11"), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"}}}, "10.96.0.10", "", true},
		"rke2":     {[]runtime.Object{service("kube-system", "rke2-coredns-rke2-coredns", "10.43.0.10", "fd00::10")}, "10.43.0.10 fd00::10", "", false},
		"headless": {[]runtime.Object{service("kube-system", "kube-dns", "None")}, "", "", false},
		"atoll":    {[]runtime.Object{service(names.SystemNamespace, render.DNSName, "10.96.0.20"), service("shop", "kube-dns", "10.96.0.10")}, "", "10.96.0.20", false},
	} {
		r, _ := reads(t, tt.objects...)
		r.services()
		if c := r.cluster; strings.Join(c.ClusterDNS, " ") != tt.dns || strings.Join(c.AtollDNS, " ") != tt.own || (c.Proxy != nil) != tt.proxy {
			t.Errorf("%s: cluster DNS %v, atoll-dns %v, kube-proxy %v", name, c.ClusterDNS, c.AtollDNS, c.Proxy)
		}
	}
}

func TestImage(t *testing.T) {
	agent := appsv1.Deployment{}
	agent.Spec.Template.Spec.Containers = []corev1.Container{{Image: "mirror/agent:1"}}
	running := &survey.Survey{Cluster: survey.Cluster{Deployments: map[string]appsv1.Deployment{render.AgentName: agent}}}
	for name, tt := range map[string]struct {
		survey *survey.Survey
		given  string
		want   string
	}{
		"given": {running, "mine", "mine"}, "the agent's": {running, "", "mirror/agent:1"},
		"not installed": {&survey.Survey{}, "", render.Member{}.AgentImage()}, "unreachable": {nil, "", render.Member{}.AgentImage()},
	} {
		if got := Image(tt.survey, tt.given); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
