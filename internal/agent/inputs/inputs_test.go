package inputs

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
	fakes "github.com/atoll-mcs/atoll/test/objects"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// member returns a cluster with these objects, without a broker.
func member(t *testing.T, objects ...client.Object) *Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcsv1beta1.Install, trafficv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return &Cluster{
		ID: "c1", Network: local.ServiceNetwork{Families: []corev1.IPFamily{corev1.IPv4Protocol}},
		Client: fakes.Untargeted(scheme).WithObjects(objects...).Build(),
		View:   view.New("", "c1", nil, &kit.Changes[kit.Scope]{}),
	}
}

// going marks an object as being deleted, with a finalizer.
func going[T client.Object](object T) T {
	object.SetDeletionTimestamp(&metav1.Time{Time: metav1.Unix(1, 0).Time})
	object.SetFinalizers([]string{"example.org/keep"})
	return object
}

func export() *mcsv1beta1.ServiceExport {
	return &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
}

func service(kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}, Spec: corev1.ServiceSpec{Type: kind}}
}

func TestOwn(t *testing.T) {
	for _, tt := range []struct {
		name                           string
		objects                        []client.Object
		export, service, contributions bool
		reason                         mcsv1beta1.ServiceExportConditionReason
	}{
		{"a Service without export", []client.Object{service("ClusterIP")}, false, false, false, ""},
		{"both", []client.Object{export(), service("ClusterIP")}, true, true, true, "Valid"},
		{"an export without Service", []client.Object{export()}, true, false, false, "NoService"},
		{"one that can't be exported", []client.Object{export(), service("ExternalName")}, true, true, false, "InvalidServiceType"},
		{"an export that is going", []client.Object{going(export()), service("ClusterIP")}, false, false, false, ""},
		{"a Service that a finalizer keeps", []client.Object{export(), going(service("ClusterIP"))}, true, true, true, "Valid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			own, err := member(t, tt.objects...).Own(t.Context(), web)
			if err != nil {
				t.Fatal(err)
			}
			if (own.Export != nil) != tt.export || (own.Service != nil) != tt.service || (own.Contribution != nil) != tt.contributions {
				t.Errorf("gathered %+v", own)
			}
			if own.Validity.Reason != tt.reason {
				t.Errorf("the validity is %+v", own.Validity)
			}
			if own.Contribution != nil && own.Contribution.ClusterID != "c1" {
				t.Errorf("the contribution is %+v", own.Contribution)
			}
		})
	}
}

// Of too many ServiceExports the youngest is not exported. When another one ends, it is, and that is published.
func TestTooManyExports(t *testing.T) {
	c := member(t, export(), service("ClusterIP"))
	var changed []kit.Scope
	defer c.Changes.Subscribe(func(s kit.Scope) { changed = append(changed, s) })()
	changed = nil // the start is everything
	at := func(name string, seconds int64) *mcsv1beta1.ServiceExport {
		return &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: name, CreationTimestamp: metav1.Unix(seconds, 0)}}
	}
	exports := func(want bool) {
		t.Helper()
		if own, err := c.Own(t.Context(), web); err != nil || (own.Contribution != nil) != want || (own.Withheld == "") != want {
			t.Errorf("exported: %v, want %v; withheld: %q, error %v", own.Contribution, want, own.Withheld, err)
		}
	}
	for i := range share.Records {
		c.Export(t.Context(), kit.Event[*mcsv1beta1.ServiceExport]{New: at(fmt.Sprint("old-", i), 1)})
	}
	exports(true)
	c.Export(t.Context(), kit.Event[*mcsv1beta1.ServiceExport]{New: at(web.Name, 2)})
	exports(false)
	c.Export(t.Context(), kit.Event[*mcsv1beta1.ServiceExport]{Old: at("old-0", 1)})
	exports(true)
	if last := (kit.Scope{Service: web, Member: c.ID}); len(changed) == 0 || changed[len(changed)-1] != last {
		t.Errorf("published: %v, want %v at the end", changed, last)
	}
}

// The policy for which a ServiceExport was created restricts the export while no policy is
// known, and after the policy is withdrawn.
func TestOwnFollowsThePolicyOfItsExport(t *testing.T) {
	const annotation = `{"serviceNamespace":"shop","serviceName":"web","scope":"Clusterset","consumers":["c2"],"ports":[{"port":80}]}`
	believed := &brokerv1alpha1.ServicePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: names.ServicePolicy(web.Namespace, web.Name)},
		Spec: brokerv1alpha1.ServicePolicySpec{
			ServiceNamespace: web.Namespace, ServiceName: web.Name, Scope: brokerv1alpha1.ScopeClusterset, Consumers: []string{"c3"},
			Ports: []brokerv1alpha1.PolicyPort{{Port: 81}},
		},
	}
	layout.SetRevision(believed, 6)
	withdrawn := believed.DeepCopy()
	layout.Withdraw(withdrawn)
	for name, tt := range map[string]struct {
		believed           *brokerv1alpha1.ServicePolicy
		manager, annotated string
		want               string // consumers and ports
	}{
		"no policy is known":        {nil, names.AgentManager, annotation, "[c2] [80]"},
		"the policy is withdrawn":   {withdrawn, names.AgentManager, annotation, "[c2] [80]"},
		"another policy is known":   {believed, names.AgentManager, annotation, "[c3] [81]"},
		"the export is a user's":    {nil, "", annotation, "[] [80 81]"},
		"a user has edited it":      {nil, names.AgentManager, "?", "[] [80 81]"},
		"edited, a policy is known": {believed, names.AgentManager, "?", "[c3] [81]"},
	} {
		t.Run(name, func(t *testing.T) {
			e := export()
			e.Labels = map[string]string{names.LabelManagedBy: tt.manager}
			e.Annotations = map[string]string{names.AnnotationPolicy: tt.annotated, names.AnnotationRevision: "5"}
			s := service("ClusterIP")
			s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 81}}
			c := member(t, e, s)
			if tt.believed != nil {
				c.View.Replace(nil, []*brokerv1alpha1.ServicePolicy{tt.believed}, nil)
			}
			own, err := c.Own(t.Context(), web)
			if err != nil || own.Contribution == nil {
				t.Fatalf("the contribution is %+v, error %v", own, err)
			}
			var ports []int32
			for _, p := range own.Contribution.Ports {
				ports = append(ports, p.Port)
			}
			if got := fmt.Sprint(own.Contribution.Consumers, ports); got != tt.want {
				t.Errorf("the contribution is %s, want %s", got, tt.want)
			}
		})
	}
}

// The agent imports nothing into a namespace that does not exist or is being deleted.
func TestNamespacesThatAreNotThere(t *testing.T) {
	named := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	for _, tt := range []struct {
		objects []client.Object
		want    int
	}{{nil, 0}, {[]client.Object{going(named(web.Namespace))}, 0}, {[]client.Object{named(web.Namespace)}, 1}} {
		exported, err := member(t, append(tt.objects, export(), service("ClusterIP"))...).Exports(t.Context(), web)
		if err != nil || len(exported.Imported) != tt.want {
			t.Errorf("with %v: imports %v, error %v", tt.objects, exported.Imported, err)
		}
	}
}
