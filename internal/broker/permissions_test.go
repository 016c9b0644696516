package broker

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// What is permitted holds when another session reads a broker that has lost it.
func TestPermissionsOutliveTheirConfigMap(t *testing.T) {
	var brokers []client.Client
	for i := range byte(2) {
		c, err := client.New(apiserver.New(i+1).Config(), client.Options{Scheme: Scheme()})
		if err == nil {
			err = c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		brokers = append(brokers, c)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: names.MemberPermissions}, Data: map[string]string{"namespaces.c2": "shop"}}
	if err := brokers[0].Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	p := NewPermissions(brokers[0], "set")
	for i, b := range brokers {
		if p.Read(b); !p.Members().MayExport("c2", "shop") || p.Members().MayExport("c2", "other") {
			t.Errorf("broker %d: %v", i, p.Members())
		}
	}
}
