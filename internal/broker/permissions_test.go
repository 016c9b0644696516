package broker

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// What is permitted holds when another session reads a broker that has lost it.
func TestPermissionsOutliveTheirConfigMap(t *testing.T) {
	c, err := client.New(apiserver.New(1).Config(), client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: names.MemberPermissions}, Data: map[string]string{"namespaces.c2": "shop"}}
	err = errors.Join(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set"}}), c.Create(t.Context(), config))
	p := NewPermissions(c, "set")
	p.Members()
	err = errors.Join(err, c.Delete(t.Context(), config))
	if p.Read(c); err != nil || !p.Members().MayExport("c2", "shop") || p.Members().MayExport("c2", "other") {
		t.Errorf("permitted is %v; %v", p.Members(), err)
	}
}
