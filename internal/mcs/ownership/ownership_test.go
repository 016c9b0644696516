package ownership

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestIsManaged(t *testing.T) {
	for name, tt := range map[string]struct {
		manager, applied string
		want             bool
	}{
		"labelled":                           {names.AgentManager, "", true},
		"labelled and written":               {names.AgentManager, "c1=1", true},
		"a person removed the label":         {"", "c1=1", true},
		"neither":                            {"", "", false},
		"another manager":                    {"another", "", false},
		"a person changed the label":         {"another", "c1=1", true},
		"the aggregate of a broker's member": {names.AggregateManager, "c1=1", false},
	} {
		imp := &mcsv1beta1.ServiceImport{}
		if tt.manager != "" {
			imp.Labels = map[string]string{names.LabelManagedBy: tt.manager}
		}
		if tt.applied != "" {
			imp.Annotations = map[string]string{names.AnnotationApplied: tt.applied}
		}
		if got := IsManaged(imp); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWasManaged(t *testing.T) {
	for name, tt := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		"no managed fields":      {nil, false},
		"a GitOps tool":          {[]metav1.ManagedFieldsEntry{{Manager: "argocd"}}, false},
		"only the status":        {[]metav1.ManagedFieldsEntry{{Manager: names.ManagerImport, Subresource: "status"}}, false},
		"the agent and a person": {[]metav1.ManagedFieldsEntry{{Manager: "kubectl-edit"}, {Manager: names.ManagerImport}}, true},
	} {
		if got := WasManaged(&mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{ManagedFields: tt.fields}}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The fields that answers need count; protocols that the API server fills in do not.
func TestIsEdited(t *testing.T) {
	imp := &mcsv1beta1.ServiceImport{Spec: mcsv1beta1.ServiceImportSpec{
		Type: mcsv1beta1.ClusterSetIP, IPs: []string{"10.0.0.1"}, Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80}},
	}}
	if !IsEdited(imp) {
		t.Error("one that Atoll never wrote is not edited")
	}
	MarkWritten(imp)
	for name, tt := range map[string]struct {
		edit func(*mcsv1beta1.ServiceImportSpec)
		want bool
	}{
		"nothing":            {func(*mcsv1beta1.ServiceImportSpec) {}, false},
		"the usual protocol": {func(s *mcsv1beta1.ServiceImportSpec) { s.Ports[0].Protocol = "TCP" }, false},
		"affinity":           {func(s *mcsv1beta1.ServiceImportSpec) { s.SessionAffinity = "ClientIP" }, false},
		"protocol":           {func(s *mcsv1beta1.ServiceImportSpec) { s.Ports[0].Protocol = "UDP" }, true},
		"port":               {func(s *mcsv1beta1.ServiceImportSpec) { s.Ports[0].Port++ }, true},
		"name":               {func(s *mcsv1beta1.ServiceImportSpec) { s.Ports[0].Name = "" }, true},
		"no port":            {func(s *mcsv1beta1.ServiceImportSpec) { s.Ports = nil }, true},
		"address":            {func(s *mcsv1beta1.ServiceImportSpec) { s.IPs = append(s.IPs, "10.0.0.2") }, true},
		"type":               {func(s *mcsv1beta1.ServiceImportSpec) { s.Type = mcsv1beta1.Headless }, true},
	} {
		now := imp.DeepCopy()
		tt.edit(&now.Spec)
		if got := IsEdited(now); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestIsAdoptable(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*mcsv1beta1.ServiceImport)
		want   bool
	}{
		"a GitOps tool's": {func(i *mcsv1beta1.ServiceImport) {
			i.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm", "app": "web"}
			i.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "x", "plain": "x"}
		}, true},
		"with an owner that is no controller": {func(i *mcsv1beta1.ServiceImport) { i.OwnerReferences = []metav1.OwnerReference{{Kind: "App"}} }, true},
		"with a controller": {func(i *mcsv1beta1.ServiceImport) {
			i.OwnerReferences = []metav1.OwnerReference{{Kind: "App", Controller: ptr.To(true)}}
		}, false},
		"with clusters":            {func(i *mcsv1beta1.ServiceImport) { i.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}} }, false},
		"with a condition":         {func(i *mcsv1beta1.ServiceImport) { i.Status.Conditions = []metav1.Condition{{Type: "Ready"}} }, false},
		"another manager":          {func(i *mcsv1beta1.ServiceImport) { i.Labels = map[string]string{names.LabelManagedBy: "x"} }, false},
		"a label of Submariner":    {func(i *mcsv1beta1.ServiceImport) { i.Labels = map[string]string{"lighthouse.submariner.io/a": ""} }, false},
		"an annotation of Karmada": {func(i *mcsv1beta1.ServiceImport) { i.Annotations = map[string]string{"karmada.io/a": ""} }, false},
		"a label of the API":       {func(i *mcsv1beta1.ServiceImport) { i.Labels = map[string]string{names.LabelServiceName: "web"} }, false},
		"a similar domain": {func(i *mcsv1beta1.ServiceImport) {
			i.Labels = map[string]string{"notcilium.io/a": "", "cilium.io.x/a": ""}
		}, true},
	} {
		imp := &mcsv1beta1.ServiceImport{}
		tt.change(imp)
		if got := IsAdoptable(imp); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
