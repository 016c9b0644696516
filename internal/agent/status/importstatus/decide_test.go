package importstatus

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Ready is True only when all objects are written. A failure makes it Unknown, and False after 30 s.
func TestDecide(t *testing.T) {
	began := time.Unix(1000, 0)
	refused := func(message string) status.Problem {
		return status.Problem{Warnings: []status.Warning{{Reason: "EndpointsRefused", Message: message}}}
	}
	failing := status.Problem{Failure: "quota", Since: began}
	type parts = map[status.Part]status.Problem
	for name, tt := range map[string]struct {
		problems parts
		service  string // the annotation
		was      string // the status of Ready, "" for no condition
		missing  bool
		after    time.Duration
		status   metav1.ConditionStatus
		reason   string
		message  string
	}{
		"everything is written":           {service: "web-clusterset", status: "True", reason: "Ready", message: "The service is imported. Its clusterset IP is 10.0.0.1."},
		"no derived Service yet":          {status: "Unknown", reason: "Pending", message: "The service is being imported"},
		"a slice is missing":              {service: "web-clusterset", missing: true, status: "Unknown", reason: "Pending", message: "The service is being imported"},
		"the Service fails":               {problems: parts{{}: failing}, was: "True", after: 29 * time.Second, status: "Unknown", reason: "Pending", message: "The derived Service cannot be written. The agent retries: quota"},
		"the Service has failed for long": {problems: parts{{}: failing}, was: "Unknown", after: 30 * time.Second, status: "False", reason: "Failed", message: "The derived Service cannot be written. The agent retries: quota"},
		"it fails again after a restart":  {problems: parts{{}: failing}, was: "False", status: "False", reason: "Failed", message: "quota"},
		"the import fails":                {service: "web-clusterset", problems: parts{{Kind: "ServiceImport"}: failing}, was: "True", status: "Unknown", reason: "Pending", message: "The ServiceImport cannot be written. The agent retries: quota"},
		"slices fail": {
			service: "web-clusterset", problems: parts{{Cluster: "c2", Slice: "a"}: failing, {Cluster: "c2", Slice: "b"}: {Failure: "later", Since: began.Add(time.Hour)}},
			was: "True", after: 30 * time.Second, status: "False", reason: "Failed", message: `The agent cannot write all endpoints from "c2", and retries: quota`,
		},
		"a warning of a failing slice": {service: "web-clusterset", problems: parts{{Cluster: "c2", Slice: "a"}: refused("first"), {Cluster: "c3", Slice: "a"}: failing}, status: "Unknown", reason: "Pending", message: "quota"},
		"two slices, one warning":      {service: "web-clusterset", problems: parts{{Cluster: "c2", Slice: "a"}: refused("first"), {Cluster: "c2", Slice: "b"}: refused("second")}, status: "True", reason: "Ready", message: "10.0.0.1. first"},
		"two clusters, two warnings":   {service: "web-clusterset", problems: parts{{Cluster: "c2", Slice: "a"}: refused("first"), {Cluster: "c3", Slice: "b"}: refused("second")}, status: "True", reason: "Ready", message: "10.0.0.1. first second"},
		"a warning of the own Service": {service: "web-clusterset", problems: parts{{}: refused("of its distribution")}, status: "True", reason: "Ready", message: "10.0.0.1. of its distribution"},
	} {
		t.Run(name, func(t *testing.T) {
			imp := &mcsv1beta1.ServiceImport{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}},
				Spec: mcsv1beta1.ServiceImportSpec{
					Type: mcsv1beta1.ClusterSetIP, IPs: []string{"10.0.0.1"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []mcsv1beta1.ServicePort{{Port: 80}},
				},
				Status: mcsv1beta1.ServiceImportStatus{Conditions: []metav1.Condition{{Type: "Theirs", Status: metav1.ConditionTrue}}},
			}
			if tt.was != "" {
				reason := map[string]string{"True": "Ready", "Unknown": "Pending", "False": "Failed"}[tt.was]
				imp.Status.Conditions = append(imp.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionStatus(tt.was), Reason: reason})
			}
			if tt.service != "" {
				imp.Annotations[names.AnnotationDerivedService] = tt.service
			}
			d := decide(inputsOf{
				have: imp, exported: local.Exported{Imported: []merge.Export{{ClusterID: "c2"}, {ClusterID: "c1"}}},
				families: []corev1.IPFamily{corev1.IPv4Protocol}, problems: tt.problems, missing: tt.missing,
			}, began.Add(tt.after))
			ready := meta.FindStatusCondition(d.status.Conditions, "Ready")
			if ready.Status != tt.status || ready.Reason != tt.reason || !strings.Contains(ready.Message, tt.message) || strings.HasSuffix(tt.message, "first") && strings.Contains(ready.Message, "second") {
				t.Errorf("Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
			}
			if fails := tt.status == metav1.ConditionUnknown && strings.Contains(ready.Message, "retries"); (d.again > 0) != fails || fails && d.again != 30*time.Second-tt.after {
				t.Errorf("it decides again after %v", d.again)
			}
			if (d.event != nil) != (tt.was != string(tt.status) && tt.status != metav1.ConditionUnknown) {
				t.Errorf("from %q to %s, the Event is %v", tt.was, tt.status, d.event)
			}
			if !meta.IsStatusConditionTrue(d.status.Conditions, "Theirs") || len(d.status.Clusters) != 2 || d.status.Clusters[0].Cluster != "c1" {
				t.Errorf("the status is %+v", d.status)
			}
		})
	}
}
