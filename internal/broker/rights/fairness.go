package rights

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// writeShares, heartbeatShares, listShares and readShares give members 151, 11, 11 and 60 of a default API server's 600 seats, next
	// to Kubernetes' own 245 shares. A write keeps its seat 0.5 ms longer for each watch of its kind, and each
	// agent has one. With 1,000 watches, 151 seats are 300 writes a second. Heartbeats have no watches, and neither other
	// requests nor the lists of heartbeats take their seats.
	writeShares, heartbeatShares, listShares, readShares = 100, 7, 7, 40
	// precedence comes before Kubernetes' schema for service accounts (9000).
	precedence = 1000
)

// fairness returns API Priority and Fairness objects that limit members' concurrent requests. Each member has its own
// queue, so a busy member hardly delays others, and never the broker's other users.
// https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
func fairness(namespace string) []client.Object {
	var objects []client.Object
	for _, level := range []struct {
		name       string
		shares     int32
		precedence int32
		rule       flowcontrolv1.ResourcePolicyRule
	}{
		{"heartbeats", heartbeatShares, precedence, flowcontrolv1.ResourcePolicyRule{
			Verbs: append([]string{"get"}, writeVerbs...), APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Namespaces: []string{namespace},
		}},
		{"heartbeat-lists", listShares, precedence, flowcontrolv1.ResourcePolicyRule{
			Verbs: []string{"list"}, APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Namespaces: []string{namespace},
		}},
		{"writes", writeShares, precedence + 1, allResources(writeVerbs)},
		{"reads", readShares, precedence + 1, allResources([]string{"get", "list", "watch"})},
	} {
		name := level.name + "-of-" + namespace + ".atoll.dev"
		objects = append(objects, priorityLevel(namespace, name, level.shares), flowSchema(namespace, name, level.precedence, level.rule))
	}
	return objects
}

var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// allResources matches all requests with these verbs. Denied requests, such as Events, cost the API server time too.
func allResources(verbs []string) flowcontrolv1.ResourcePolicyRule {
	return flowcontrolv1.ResourcePolicyRule{Verbs: verbs, APIGroups: []string{"*"}, Resources: []string{"*"}, Namespaces: []string{"*"}, ClusterScope: true}
}

func priorityLevel(namespace, name string, shares int32) *flowcontrolv1.PriorityLevelConfiguration {
	return &flowcontrolv1.PriorityLevelConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: flowcontrolv1.SchemeGroupVersion.String(), Kind: "PriorityLevelConfiguration"},
		ObjectMeta: policyMeta(namespace, name),
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: ptr.To(shares),
				LendablePercent:          ptr.To(int32(50)),
				// Without a limit, members would borrow nearly all seats that other users do not need at the moment.
				BorrowingLimitPercent: ptr.To(int32(0)),
				LimitResponse: flowcontrolv1.LimitResponse{
					Type: flowcontrolv1.LimitResponseTypeQueue,
					// A member uses three of these queues. One of 341,376 pairs of members shares the same three.
					Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 128, HandSize: 3, QueueLengthLimit: 50},
				},
			},
		},
	}
}

// flowSchema assigns the members' requests to a priority level.
func flowSchema(namespace, name string, precedence int32, rule flowcontrolv1.ResourcePolicyRule) *flowcontrolv1.FlowSchema {
	accounts := flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: "system:serviceaccounts:" + namespace}}
	return &flowcontrolv1.FlowSchema{
		TypeMeta:   metav1.TypeMeta{APIVersion: flowcontrolv1.SchemeGroupVersion.String(), Kind: "FlowSchema"},
		ObjectMeta: policyMeta(namespace, name),
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: name},
			MatchingPrecedence:         precedence,
			DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects:      []flowcontrolv1.Subject{accounts},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{rule},
			}},
		},
	}
}
