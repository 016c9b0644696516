package setup

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestSettle(t *testing.T) {
	file := credential.Membership{ClusterID: "c1", Clusterset: "set", Server: "https://b"}
	joined := func(id names.ClusterID, set string) memberState {
		return memberState{joined: &credential.Membership{ClusterID: id, Clusterset: set, Server: "https://other"}}
	}
	says := func(property, value string) memberState {
		return memberState{properties: map[string]aboutv1beta1.ClusterProperty{property: {
			ObjectMeta: metav1.ObjectMeta{Name: property}, Spec: aboutv1beta1.ClusterPropertySpec{Value: value},
		}}}
	}
	for name, c := range map[string]struct {
		expected names.ClusterID
		state    memberState
		want     string // part of the error, "" for no error
	}{
		"a new cluster":                {"", memberState{}, ""},
		"as expected":                  {"c1", memberState{}, ""},
		"not as expected":              {"c2", memberState{}, `for cluster "c1", not for cluster "c2"` + "\nCreate a join file for this cluster: atoll broker token create c2 --clusterset set --context CONTEXT_OF_BROKER"},
		"again":                        {"", joined("c1", "set"), ""},
		"another id":                   {"", joined("c2", "set"), `already a member with the cluster id "c2", but the join file is for cluster id "c1"` + "\nTo change the cluster id or the clusterset, first remove the cluster from the clusterset. This withdraws its exports and deletes its imports: atoll leave"},
		"another clusterset":           {"", joined("c1", "other"), `already a member of clusterset "other"`},
		"its own property":             {"", says(aboutv1beta1.ClusterIDProperty, "c1"), ""},
		"another id by its property":   {"", says(aboutv1beta1.ClusterIDProperty, "prod"), "token create prod --clusterset set --context CONTEXT_OF_BROKER. If nothing else uses the ClusterProperty, delete it, and join the cluster again: kubectl delete clusterproperty cluster.clusterset.k8s.io"},
		"another clusterset by its":    {"", says(aboutv1beta1.ClustersetProperty, "staging"), "token create c1 --clusterset staging"},
		"the clusterset by a property": {"", says(aboutv1beta1.ClustersetProperty, "set"), ""},
	} {
		err := checkAgreement(file, c.expected, c.state)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
