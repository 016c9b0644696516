package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

// atoll render writes the objects that the other commands install: applying its output to
// members and their broker changes nothing.
func TestRenderedIsWhatIsInstalled(t *testing.T) {
	for cluster, line := range map[string]string{
		"c1":       "render member --cluster-id c1 --no-workloads",
		"c2":       "render member --cluster-id c2 --no-workloads",
		lab.Broker: "render broker",
	} {
		objects, err := install.Parse([]byte(planes.Must(t, "", line)))
		noError(t, err)
		target := planes.Target(t, theLab, cluster)
		if len(objects) < 10 {
			t.Errorf("%s: only %d objects", line, len(objects))
		}
		for _, o := range objects {
			before := contents(t, target, o)
			noError(t, target.Apply(t.Context(), o))
			if diff := cmp.Diff(before, contents(t, target, o)); diff != "" {
				t.Errorf("%s: %s (-installed +rendered):\n%s", line, install.Name(o), diff)
			}
		}
	}
}

// contents returns an object from the API server without fields that record only writes.
func contents(t *testing.T, on client.Reader, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(o.GroupVersionKind())
	if err := on.Get(t.Context(), client.ObjectKeyFromObject(o), have); err != nil {
		t.Fatalf("%s: %v", install.Name(o), err)
	}
	have.SetManagedFields(nil)
	have.SetResourceVersion("")
	unstructured.RemoveNestedField(have.Object, "status")
	return have.Object
}
