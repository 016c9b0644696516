package export

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// An error tells a missing namespace from a missing Service, and says how to find the right one.
func TestMissing(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).Build()
	for name, tt := range map[string]struct{ given, namespace, want string }{
		"the Service": {"shop", "shop",
			"Service shop/web does not exist, so it cannot be exported. To see which exist: kubectl get services -n shop --context c1"},
		"the namespace": {"shpo", "shpo",
			"namespace shpo does not exist, so Service web cannot be exported. To see which exist: kubectl get namespaces --context c1"},
		"in the default namespace": {"", "shop",
			"Service shop/web does not exist, so it cannot be exported. Namespace shop is the default of the kubeconfig context: for another namespace, add -n NAMESPACE. To see which exist: kubectl get services -n shop --context c1"},
	} {
		o := &options{namespace: tt.given}
		err := o.missing(t.Context(), &install.Target{Client: c, On: command.At("", "c1")}, client.ObjectKey{Namespace: tt.namespace, Name: "web"})
		if err.Error() != tt.want {
			t.Errorf("%s: %q, want %q", name, err, tt.want)
		}
	}
}

// Exporting a Service whose ServiceExport the agent made for a MultiClusterService makes it the user's: it may export the Service
// to load balancers alone. A user's own one stays as it is.
func TestTake(t *testing.T) {
	for name, tt := range map[string]struct {
		manager string
		was     bool
	}{"an agent's": {names.AgentManager, false}, "a user's": {"", true}} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := mcsv1beta1.Install(scheme); err != nil {
				t.Fatal(err)
			}
			have := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{names.LabelManagedBy: tt.manager}}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(have).WithReturnManagedFields().Build()
			command := &cobra.Command{}
			command.SetContext(t.Context())
			was, err := take(command, &install.Target{Client: c}, client.ObjectKeyFromObject(have))
			if err != nil || was != tt.was {
				t.Fatalf("there was nothing to do: %t, %v", was, err)
			}
			now := &mcsv1beta1.ServiceExport{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(have), now); err != nil || contribution.ByPolicy(now) {
				t.Errorf("%v: %+v", err, now.ObjectMeta)
			}
		})
	}
}

// In a cluster that has left its clusterset, an export has no effect: the command says so.
func TestNotAMember(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Port: 80}}}}
	property := &aboutv1beta1.ClusterProperty{ObjectMeta: metav1.ObjectMeta{Name: aboutv1beta1.ClustersetProperty}}
	for warns, objects := range map[bool][]client.Object{true: {service}, false: {service, property}} {
		var out, said bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		cmd.SetOut(&out)
		cmd.SetErr(&said)
		cluster := &install.Target{Client: fake.NewClientBuilder().WithScheme(install.Scheme()).WithObjects(objects...).Build()}
		if err := export(cmd, cluster, client.ObjectKeyFromObject(service), &options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "service shop/web exported") || strings.Contains(said.String(), "warning: this cluster is not a member") != warns {
			t.Errorf("a member: %t: %s%s", !warns, out.String(), said.String())
		}
	}
}
