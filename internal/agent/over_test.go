package agent

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

func TestOverBudgetOfText(t *testing.T) {
	if text := overBudgetOfText(nil); text != "" {
		t.Errorf("without any: %q", text)
	}
	of := map[string]brokerv1alpha1.OverBudget{}
	for _, id := range []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7"} {
		of[id] = brokerv1alpha1.OverBudget{Reason: brokerv1alpha1.OverBudgetBytes}
	}
	of["c1"] = brokerv1alpha1.OverBudget{Reason: brokerv1alpha1.OverBudgetChanges, Until: ptr.To(metav1.Unix(1000, 0))}
	text := overBudgetOfText(of)
	for _, part := range []string{"c1 (changes until 1970-01-01T00:16:40Z), c2 (bytes), ", "c5 (bytes), and 2 more", "--member-budget"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}
