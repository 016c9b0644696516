package merge

import (
	"encoding/json"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// FuzzResolve merges arbitrary exports of other clusters. The result must be valid for the
// importing cluster's Service, with valid labels and annotations.
func FuzzResolve(f *testing.F) {
	f.Add([]byte(`[{"clusterID":"c1","type":"ClusterSetIP","ports":[{"name":"http","port":80,"protocol":"TCP"}],"ipFamilies":["IPv4"]},
		{"clusterID":"c2","type":"Headless","ports":[{"name":"web","port":80},{"name":"http","port":81}],"sessionAffinity":"ClientIP"}]`))
	f.Add([]byte(`[{"clusterID":"","type":"?","ports":[{"port":-1},{"port":-1}],"ipFamilies":["","IPv6","IPv6"],"sessionAffinityConfig":{"clientIP":{}},"exportedLabels":{"":"\u0000"}}]`))
	f.Add([]byte(`[{"clusterID":"c1","exportedAt":"1970-01-01T00:00:00Z","exportedLabels":{"a/b/c":"x","atoll.dev/x":"y"},"exportedAnnotations":{"A B":"c"}},{"clusterID":"c1"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var exports []Export
		if json.Unmarshal(data, &exports) != nil || len(exports) == 0 {
			return
		}
		for i := range exports {
			exports[i], _ = validation.Record(exports[i]) // as at every border
		}
		resolution := Resolve(exports)
		for i, p := range resolution.Spec.Ports {
			if contradicts(resolution.Spec.Ports[:i], p) {
				t.Errorf("ports %+v can't be in one Service", resolution.Spec.Ports)
			}
		}
		exported := resolution.Exported()
		for key, value := range exported.Labels {
			if len(apivalidation.IsQualifiedName(key)) > 0 || len(apivalidation.IsValidLabelValue(value)) > 0 {
				t.Errorf("label %q=%q", key, value)
			}
		}
		for _, c := range resolution.Conflicts {
			if c.Reason == "" || c.Message == "" {
				t.Errorf("a conflict without reason or message: %+v", c)
			}
		}
	})
}
