package exportstatus

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

var cut = status.Warning{Reason: "EndpointsTruncated", Message: "Some are left out."}

// outcome is how writing a record went, if the broker has been reached.
func outcome(brokerSeen bool, failure string) status.Problem {
	return status.Problem{Waiting: !brokerSeen, Failure: failure}
}

func TestReady(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		valid, brokerSeen       bool
		record                  string
		endpoints               status.Problem
		status, reason, message string
	}{
		{"all is well", true, true, "", status.Problem{}, "True", "Exported", "The Service is exported to the clusterset."},
		{
			"with something to say", true, true, "", status.Problem{Warnings: []status.Warning{cut}},
			"True", "Exported", "The Service is exported to the clusterset. Some are left out.",
		},
		{
			"the record is refused", true, true, "no", status.Problem{Failure: "not either"},
			"False", "Failed", "The export did not reach the broker. The agent retries: no",
		},
		{
			"an endpoint is refused", true, true, "", status.Problem{Failure: "no", Warnings: []status.Warning{cut}},
			"False", "Failed", "Not all endpoints reached the broker. The agent retries: no",
		},
		{"nothing to export", false, true, "", status.Problem{}, "False", "Pending", "The Service is exported only when this ServiceExport is valid."},
		{"no broker", true, false, "", status.Problem{}, "False", "Pending", "The agent has not reached the broker yet."},
	} {
		own := local.Own{Validity: contribution.Validity{Valid: tt.valid}}
		got, _ := ready(own, Progress{Record: outcome(tt.brokerSeen, tt.record), Endpoints: tt.endpoints}, nil, time.Now())
		if got.Type != "Ready" || string(got.Status) != tt.status || got.Reason != tt.reason || got.Message != tt.message {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
	own := local.Own{Validity: contribution.Validity{Valid: true}, Contribution: &merge.Export{Scope: brokerv1alpha1.ScopeHub}}
	if got, _ := ready(own, Progress{}, nil, time.Now()); got.Status != "True" || !strings.Contains(got.Message, "only to the load balancers") {
		t.Errorf("for the hub alone: got %+v", got)
	}
}

// A failing write makes Ready Unknown, and False when it has failed for long. Ready True has the warnings.
func TestFailingWritesInTime(t *testing.T) {
	began := time.Unix(1000, 0)
	own := local.Own{Export: &mcsv1beta1.ServiceExport{}, Validity: contribution.Validity{Valid: true}}
	for _, tt := range []struct {
		after time.Duration
		is    metav1.ConditionStatus
		again time.Duration
	}{{0, metav1.ConditionUnknown, 30 * time.Second}, {29 * time.Second, metav1.ConditionUnknown, time.Second}, {30 * time.Second, metav1.ConditionFalse, 0}} {
		problem := status.Problem{Failure: "no", Since: began, Warnings: []status.Warning{cut}}
		for name, so := range map[string]Progress{"record": {Record: problem, Tried: true}, "endpoints": {Endpoints: problem, Tried: true}} {
			got, again := Conditions(own, so, began.Add(tt.after))
			if ready := meta.FindStatusCondition(got, "Ready"); ready.Status != tt.is || again != tt.again || !strings.HasSuffix(ready.Message, "The agent retries: no") {
				t.Errorf("%s after %v: %+v, again after %v", name, tt.after, ready, again)
			}
			if in := warningsIn(got, so); in != nil {
				t.Errorf("%s: Ready is not True, and has warnings %v", name, in)
			}
		}
	}
	so := Progress{Endpoints: status.Problem{Warnings: []status.Warning{cut}}, Tried: true}
	if got, _ := Conditions(own, so, began); warningsIn(got, so)[cut.Reason] != cut.Message {
		t.Errorf("%+v has no warning", got)
	}
}

// If parts of an export are refused, it stays valid and ready, and its condition names these
// parts.
func TestRefusedPartsAreAWarning(t *testing.T) {
	own := local.Own{Export: &mcsv1beta1.ServiceExport{}, Validity: contribution.Validity{Valid: true, Reason: "Valid"}}
	if got := Warnings(own, false); got != nil {
		t.Errorf("without refused parts: %v", got)
	}
	own.Refused = []validation.Refused{{Part: `exported label "team"`, Reason: "is not a label"}}
	got, _ := Conditions(own, Progress{Endpoints: status.Problem{Warnings: Warnings(own, false)}, Tried: true}, time.Now())
	if got[0].Status != metav1.ConditionTrue || got[1].Status != metav1.ConditionTrue || !strings.Contains(got[1].Message, `: exported label "team": is not a label.`) {
		t.Errorf("%+v", got)
	}
}

// The condition of an export from a namespace that other clusters do not import names the label
// that allows imports. An export without any exposed port is not called exported.
func TestReadyNamesWhyNobodyImports(t *testing.T) {
	own := local.Own{Export: &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}, Validity: contribution.Validity{Valid: true}}
	const open = "Clusters import this Service only if their namespace default has the label that allows imports. " +
		"To add the label, run this command in each cluster: kubectl label namespace default --overwrite atoll.dev/exports=allowed --context CONTEXT_OF_CLUSTER"
	const here = "Namespace default of this cluster has no label that allows imports, so this cluster does not import exports of the same Service from other clusters. "
	for closed, want := range map[bool]string{false: open, true: here + open} {
		if got := Warnings(own, closed); len(got) != 1 || got[0] != (status.Warning{Reason: "SystemNamespace", Message: want}) {
			t.Errorf("closed %v: %+v", closed, got)
		}
	}
	own.Export.Namespace = "shop"
	if got := Warnings(own, false); got != nil {
		t.Errorf("a user's namespace: %+v", got)
	}
	own.Withheld = "The Service has none of the ports."
	if got, _ := ready(own, Progress{}, nil, time.Now()); got.Status != metav1.ConditionFalse || got.Reason != "Pending" || got.Message != own.Withheld {
		t.Errorf("no port is exposed: %+v", got)
	}
}

// Valid is set at once, without knowledge of the broker. Ready and Conflict keep their values
// until the agent has read the broker; Ready also until the agent has tried to publish the
// endpoints.
func TestConditionsStandUntilMoreIsKnown(t *testing.T) {
	before := metav1.Condition{Type: "Ready", Status: "True", Reason: "Exported", Message: "before", ObservedGeneration: 3, LastTransitionTime: metav1.Unix(9, 0)}
	opposed := metav1.Condition{Type: "Conflict", Status: "True", Reason: "PortConflict", Message: "opposed", ObservedGeneration: 3, LastTransitionTime: metav1.Unix(9, 0)}
	for _, tt := range []struct {
		name                      string
		before, brokerSeen, tried bool
		record                    string
		want                      string // messages of Ready and Conflict
	}{
		{"restarted, no broker", true, false, false, "", "before|opposed"},
		{"new, no broker", false, false, false, "", "The agent has not reached the broker yet."},
		{"restarted, endpoints untried", true, true, false, "", "before|All clusters that export this service agree on its properties."},
		{"new, endpoints untried", false, true, false, "", "All clusters that export this service agree on its properties."},
		{"the record is refused", true, true, false, "no", "The export did not reach the broker. The agent retries: no|All clusters that export this service agree on its properties."},
		{"all is known", true, true, true, "", "The Service is exported to the clusterset.|All clusters that export this service agree on its properties."},
	} {
		own := local.Own{Export: &mcsv1beta1.ServiceExport{}, Validity: contribution.Validity{Valid: true, Reason: "Valid"}}
		if tt.before {
			own.Export.Status.Conditions = []metav1.Condition{before, opposed}
		}
		got, _ := Conditions(own, Progress{Record: outcome(tt.brokerSeen, tt.record), Tried: tt.tried}, time.Now())
		if got[0].Type != "Valid" || got[0].Status != metav1.ConditionTrue {
			t.Errorf("%s: the first is %+v", tt.name, got[0])
		}
		var messages []string
		for _, c := range got[1:] {
			messages = append(messages, c.Message)
			if c.Message == "before" && c != before || c.Message == "opposed" && c != opposed {
				t.Errorf("%s: %+v did not stand", tt.name, c)
			}
		}
		if strings.Join(messages, "|") != tt.want {
			t.Errorf("%s: got %q", tt.name, messages)
		}
	}
}

func TestWorthAnEvent(t *testing.T) {
	condition := func(kind string, is metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: is}
	}
	for name, tt := range map[string]struct {
		before []metav1.Condition
		now    metav1.Condition
		want   bool
	}{
		"a first write fails":        {nil, condition("Ready", "Unknown"), false},
		"new and valid":              {nil, condition("Valid", "True"), false},
		"new and not valid":          {nil, condition("Valid", "False"), true},
		"valid again":                {[]metav1.Condition{condition("Valid", "False")}, condition("Valid", "True"), true},
		"new and exported":           {nil, condition("Ready", "True"), true},
		"new and not exported":       {nil, condition("Ready", "False"), true},
		"new without conflict":       {nil, condition("Conflict", "False"), false},
		"new and in conflict":        {nil, condition("Conflict", "True"), true},
		"the conflict is at its end": {[]metav1.Condition{condition("Conflict", "True")}, condition("Conflict", "False"), true},
	} {
		if got := WorthAnEvent(tt.before, tt.now); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEventType(t *testing.T) {
	for _, tt := range []struct {
		kind, reason string
		status       metav1.ConditionStatus
		want         string
	}{
		{"Valid", "Valid", "True", "Normal"},
		{"Valid", "NoService", "False", "Warning"},
		{"Ready", "Exported", "True", "Normal"},
		{"Ready", "Pending", "False", "Normal"},
		{"Ready", "Failed", "False", "Warning"},
		{"Conflict", "NoConflicts", "False", "Normal"},
		{"Conflict", "PortConflict", "True", "Warning"},
	} {
		if got := EventType(metav1.Condition{Type: tt.kind, Reason: tt.reason, Status: tt.status}); got != tt.want {
			t.Errorf("%s %s: %s", tt.kind, tt.reason, got)
		}
	}
}
