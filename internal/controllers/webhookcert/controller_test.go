package webhookcert

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
)

// The path stands at the end of whatever a person has configured, once.
func TestSetPath(t *testing.T) {
	for _, tt := range []struct{ before, want string }{
		{"https://192.0.2.1:9443", "https://192.0.2.1:9443/atoll-new"},
		{"https://192.0.2.1:9443/", "https://192.0.2.1:9443/atoll-new"},
		{"https://192.0.2.1:9443/atoll-old", "https://192.0.2.1:9443/atoll-new"},
		{"https://192.0.2.1:9443/atoll-new", "https://192.0.2.1:9443/atoll-new"},
		{"https://hub.test/behind/proxy/", "https://hub.test/behind/proxy/atoll-new"},
		{"https://hub.test/behind/proxy/atoll-old", "https://hub.test/behind/proxy/atoll-new"},
	} {
		config := admissionv1.WebhookClientConfig{URL: &tt.before}
		if setPath(&config, "atoll-new"); *config.URL != tt.want {
			t.Errorf("%s becomes %s, want %s", tt.before, *config.URL, tt.want)
		}
	}
	for _, before := range []*string{nil, ptr.To("/"), ptr.To("/atoll-old"), ptr.To("/atoll-new")} {
		config := admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Path: before}}
		if setPath(&config, "atoll-new"); *config.Service.Path != "/atoll-new" {
			t.Errorf("%v becomes %s", before, *config.Service.Path)
		}
	}
	if a, b := newPath(), newPath(); a == b || len(a) < len(pathPrefix)+26 {
		t.Errorf("paths are %s and %s", a, b)
	}
}
