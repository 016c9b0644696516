package broker

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A broker that takes requests and answers none, as where packets are lost, holds a request
// for one object up for so long and no longer.
func TestRequestsToASilentBrokerEnd(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(stop)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	inner, err := client.NewWithWatch(&rest.Config{Host: server.URL}, client.Options{Scheme: Scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	c := bounded(inner, 10*time.Millisecond)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", ResourceVersion: "1"}}
	fresh := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	for name, request := range map[string]func() error{
		"get":    func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(object), object) },
		"create": func() error { return c.Create(t.Context(), fresh) },
		"update": func() error { return c.Update(t.Context(), object) },
		"patch": func() error {
			return c.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte("{}")))
		},
		"delete":        func() error { return c.Delete(t.Context(), object) },
		"update status": func() error { return c.Status().Update(t.Context(), object) },
		"patch status": func() error {
			return c.Status().Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte("{}")))
		},
	} {
		// The test's own end is the limit otherwise: there is no time to compare with.
		if err := request(); !isTimeout(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
