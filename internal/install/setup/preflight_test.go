package setup

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/install"
)

// apiServer is an API server of a version that serves these resources, as
// "group/version/resource".
func apiServer(t *testing.T, gitVersion string, resources ...string) *install.Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			_ = json.NewEncoder(w).Encode(version.Info{GitVersion: gitVersion})
			return
		}
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: strings.TrimPrefix(r.URL.Path, "/apis/")}
		for _, name := range resources {
			if resource, found := strings.CutPrefix(name, list.GroupVersion+"/"); found {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource})
			}
		}
		if list.APIResources == nil {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
			return
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	return &install.Target{Config: &rest.Config{Host: server.URL}}
}

// supported reports an API server that is too old, and the fix.
func TestSupported(t *testing.T) {
	all := []string{"discovery.k8s.io/v1/endpointslices", "events.k8s.io/v1/events", "admissionregistration.k8s.io/v1/validatingadmissionpolicies"}
	if err := supported(apiServer(t, "v1.36.0", all...)); err != nil {
		t.Error(err)
	}
	webhooks := "admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	for missing, server := range map[string]*install.Target{
		"Kubernetes 1.30": apiServer(t, "v1.29.0", all[0], all[1], webhooks),
		"Kubernetes 1.21": apiServer(t, "v1.20.0", all[1], all[2]),
	} {
		err := supported(server)
		if err == nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "which Atoll needs") {
			t.Errorf("without the API of %s: %v", missing, err)
		}
	}
}

// The reason why pods are missing comes with what to do about a quota, and only then.
func TestDescribe(t *testing.T) {
	for name, tt := range map[string]struct {
		why  []string
		want string
		hint bool
	}{
		"nothing": {nil, "", false},
		"a quota": {[]string{`pods "a" is forbidden: exceeded quota`, "b"}, ` (pods "a" is forbidden: exceeded quota; b)`, true},
		"image":   {[]string{"p: ErrImagePull"}, " (p: ErrImagePull)", false},
	} {
		got := describe(tt.why)
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "--resources limits.cpu=500m") != tt.hint || tt.want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
