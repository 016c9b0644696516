package catalogue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// A stripped entry differs from what is wanted if and only if the whole one does, and is small whatever a member has written.
func TestStrip(t *testing.T) {
	whole := func() *mcsv1beta1.ServiceImport {
		entry := Want("set", web, exports("c1 c2"))
		entry.UID, entry.ResourceVersion = "u", "7"
		return entry
	}
	strip := func(entry *mcsv1beta1.ServiceImport) *mcsv1beta1.ServiceImport {
		once, _ := Strip(entry)
		twice, _ := Strip(once)
		return twice.(*mcsv1beta1.ServiceImport)
	}
	want := Want("set", web, exports("c1 c2"))
	if got := strip(whole()); digestsOf(got) != digestsOf(want) || got.UID != "u" || got.ResourceVersion != "7" || serviceOf(got) != web || fmt.Sprint(Clusters(got)) != "[c1 c2]" {
		t.Errorf("what is wanted is stripped to %v", got)
	}
	for name, change := range map[string]func(*mcsv1beta1.ServiceImport){
		"a port": func(e *mcsv1beta1.ServiceImport) {
			e.Spec.Ports = append(e.Spec.Ports, mcsv1beta1.ServicePort{Port: 1})
		},
		"a label":        func(e *mcsv1beta1.ServiceImport) { e.Labels["a"] = "b" },
		"an owner":       func(e *mcsv1beta1.ServiceImport) { e.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} },
		"a finalizer":    func(e *mcsv1beta1.ServiceImport) { e.Finalizers = []string{"a"} },
		"a cluster":      func(e *mcsv1beta1.ServiceImport) { e.Annotations[names.AnnotationClusters] = "c1" },
		"forged digests": func(e *mcsv1beta1.ServiceImport) { e.Annotations[annotationDigests] = "x " + digestsOf(want).content },
	} {
		entry := whole()
		change(entry)
		if got := digestsOf(strip(entry)); got.content == digestsOf(want).content || got.status != digestsOf(want).status {
			t.Errorf("%s: the digests are %v", name, got)
		}
	}
	status := whole()
	status.Status.Clusters = nil
	if got := digestsOf(strip(status)); got.content != digestsOf(want).content || got.status == digestsOf(want).status {
		t.Errorf("another status: the digests are %v", got)
	}
	large := whole()
	large.Annotations["a"] = strings.Repeat("a", 1<<17)
	for i := range 1000 {
		large.Spec.Ports = append(large.Spec.Ports, mcsv1beta1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i)})
	}
	large.Annotations[names.AnnotationClusters] = strings.Repeat("no cluster id,", 9000) + "c1"
	text, _ := json.Marshal(strip(large))
	if len(text) > 1000 || fmt.Sprint(Clusters(strip(large))) != "[c1]" {
		t.Errorf("%d bytes are left: %s", len(text), text)
	}
}
