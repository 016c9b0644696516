package drain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// What is undrained may be drained by something around it, and parts of it by themselves.
func TestRemaining(t *testing.T) {
	found := &survey.Survey{}
	drained := func(value string) map[string]string { return map[string]string{names.AnnotationDrained: value} }
	past := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	for name, value := range map[string]string{names.SystemNamespace: "true", "shop": "true", "over": past, "open": ""} {
		n := objects.Namespace(name)
		if value != "" {
			n.Annotations = drained(value)
		}
		found.Cluster.Namespaces = append(found.Cluster.Namespaces, *n)
	}
	export := objects.Export("shop", "web")
	export.Annotations = drained("true")
	found.Cluster.Exports = []mcsv1beta1.ServiceExport{*export}
	all := found.Cluster.Namespaces
	for name, tt := range map[string]struct {
		o              options
		whole          bool // the whole cluster is drained
		around, within string
	}{
		"the cluster":                     {options{}, false, "", "namespace shop, service shop/web"},
		"a namespace":                     {options{namespace: "shop"}, false, "", "service shop/web"},
		"a namespace of a drained one":    {options{namespace: "shop"}, true, "cluster c1", "service shop/web"},
		"a service":                       {options{namespace: "shop", service: "web"}, false, "namespace shop", ""},
		"a service of a drained cluster":  {options{namespace: "shop", service: "web"}, true, "cluster c1, namespace shop", ""},
		"an ended drain does not count":   {options{namespace: "over", service: "web"}, false, "", ""},
		"nothing else":                    {options{namespace: "open", service: "web"}, false, "", ""},
		"nothing else than the cluster's": {options{namespace: "open"}, true, "cluster c1", ""},
	} {
		tt.o.cluster = "c1"
		found.Cluster.Namespaces = nil
		for _, n := range all {
			if n.Name != names.SystemNamespace || tt.whole {
				found.Cluster.Namespaces = append(found.Cluster.Namespaces, n)
			}
		}
		around, within := tt.o.remaining(found)
		if !same(around, tt.around) || !same(within, tt.within) {
			t.Errorf("%s: around it %v, within %v", name, around, within)
		}
	}
	found.Cluster.Namespaces = all
	found.Broker = &survey.Broker{Permissions: permissions.Members{"c1": {Drained: true}}}
	if around, _ := (&options{cluster: "c1", namespace: "open"}).remaining(found); !same(around, "cluster c1, the broker's administrator") {
		t.Errorf("with a drain on the broker: %v", around)
	}
}

// A dry run says what would happen, not what has happened.
func TestPreview(t *testing.T) {
	away := &survey.Survey{ClusterID: "c1"}
	for name, tt := range map[string]struct {
		o     options
		found *survey.Survey
		until string
		want  string
	}{
		"the cluster": {options{}, &survey.Survey{ClusterID: "c1", Broker: &survey.Broker{}}, "", "cluster c1 would be drained: it has no exported services\n"},
		"for a time":  {options{namespace: "shop"}, &survey.Survey{ClusterID: "c1", Broker: &survey.Broker{}}, " until 2026", "namespace shop of cluster c1 would be drained until 2026: it has no exported services"},
		"the broker is away": {options{namespace: "shop", service: "web"}, away, "",
			"service shop/web of cluster c1 would be drained\nwarning: the command cannot read the broker"},
	} {
		var said strings.Builder
		tt.o.cluster = "c1"
		tt.o.preview(func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }, tt.found, tt.until)
		if got := said.String(); !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(got, "\ndry run: nothing was changed\n") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// same compares in any order.
func same(got []string, want string) bool {
	for _, g := range got {
		if !strings.Contains(want, g) {
			return false
		}
	}
	return strings.Count(want, ", ")+1 == len(got) || want == "" && len(got) == 0
}
