package local

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// live is an API server with one Service, or none.
type live struct {
	client.Reader
	version string
}

func (l live) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if l.version == "" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, "web")
	}
	o.SetResourceVersion(l.version)
	return nil
}

// A new export waits for its Service as it is; one that was judged goes by the copy, for the
// copy's changes are events.
func TestBehind(t *testing.T) {
	for _, tt := range []struct {
		name         string
		judged       bool
		copied, live string // versions of the Service, "" for none
		want         bool
	}{
		{"new, the copy is current", false, "2", "2", false},
		{"new, the Service has changed", false, "1", "2", true},
		{"new, the Service is gone", false, "1", "", true},
		{"new, the Service is not in the copy yet", false, "", "1", true},
		{"new, without a Service", false, "", "", false},
		{"judged, the Service has changed", true, "1", "2", false},
		{"judged, the Service is not in the copy yet", true, "", "1", true},
	} {
		own := Own{Export: &mcsv1beta1.ServiceExport{}}
		if tt.judged {
			own.Export.Status.Conditions = []metav1.Condition{{Type: "Valid"}}
		}
		if tt.copied != "" {
			own.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{ResourceVersion: tt.copied}}
		}
		got, err := Behind(t.Context(), live{version: tt.live}, own)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, error %v", tt.name, got, err)
		}
	}
}
