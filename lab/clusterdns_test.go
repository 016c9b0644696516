package lab

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// A cluster that joins again gets the forward that atoll leave has removed. A Corefile that has the forward stays as it is.
func TestInstallForward(t *testing.T) {
	const corefile = ".:53 {\n    errors\n    kubernetes cluster.local\n}\n"
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "coredns"}, Data: map[string]string{"Corefile": corefile}}
	server := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: render.DNSName},
		Spec:       corev1.ServiceSpec{ClusterIPs: []string{"10.101.0.9"}},
	}
	kube := fake.NewClientBuilder().WithObjects(config, server).Build()
	var first string
	for i, what := range []string{"without the forward", "with the forward"} {
		if err := installForward(t.Context(), kube); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
			t.Fatal(err)
		}
		switch {
		case !strings.Contains(config.Data["Corefile"], "10.101.0.9"):
			t.Errorf("%s: the Corefile is\n%s", what, config.Data["Corefile"])
		case i == 0:
			first = config.ResourceVersion
		case config.ResourceVersion != first:
			t.Errorf("%s: the Corefile was written again", what)
		}
	}
}
