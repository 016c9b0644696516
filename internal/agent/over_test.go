package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// A MemberCluster names the members over budget, in an order that does not change, and with times as the broker stores them.
func TestNamedIn(t *testing.T) {
	until := time.Unix(1000, 5)
	got := namedIn(map[string]quota.Usage{
		"c3": {Reason: quota.TooManyObjects, LeftOut: 3}, "c2": {Objects: 7}, "no id": {Reason: quota.TooManyBytes},
		"c1": {Reason: quota.TooManyChanges, CutOff: until},
	})
	want := []brokerv1alpha1.OverBudget{
		{ClusterID: "c1", Reason: brokerv1alpha1.OverBudgetChanges, Until: ptr.To(metav1.Unix(1000, 0))},
		{ClusterID: "c3", Reason: brokerv1alpha1.OverBudgetObjects},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
}

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
