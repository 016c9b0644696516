package setup

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// An id that is a DNS suffix of another member's id, or the other way round, makes DNS names ambiguous.
func TestNestedMember(t *testing.T) {
	member := func(id string, state brokerv1alpha1.MemberState) brokerv1alpha1.MemberCluster {
		return brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: brokerv1alpha1.MemberClusterSpec{State: state}}
	}
	members := []brokerv1alpha1.MemberCluster{member("eu.east", ""), member("west", ""), member("eu.north", brokerv1alpha1.MemberRemoved), member("a.both", ""), member("both", "")}
	for id, want := range map[names.ClusterID]string{
		"east": "eu.east", "eu.west": "west", "north": "", "eu": "", "st": "", "eueast": "", "us.east": "", "west": "", "eu.east": "", "both": "", "a.both": "", "b.both": "both",
	} {
		if got := nestedMember(members, id); got != want {
			t.Errorf("%s overlaps %q, want %q", id, got, want)
		}
	}
}

func TestCheckNested(t *testing.T) {
	on := &install.Target{Client: fake.NewClientBuilder().WithScheme(broker.Scheme()).WithObjects(
		&brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "eu.east"}},
		&brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "eu.south"}},
	).Build()}
	if err := checkNested(t.Context(), on, "set", "south"); err != nil {
		t.Errorf("a member of another clusterset: %v", err)
	}
	err := checkNested(t.Context(), on, "set", "east")
	for _, want := range []string{`cluster id "east" and cluster id "eu.east" of a member overlap`, "does not end in .east", "atoll broker token create ID --clusterset set --context CONTEXT_OF_BROKER"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestNotInJoinFile(t *testing.T) {
	if got := NotInJoinFile(&rest.Config{}); len(got) > 0 {
		t.Errorf("a plain context: %q", got)
	}
	got := strings.Join(NotInJoinFile(&rest.Config{Proxy: http.ProxyFromEnvironment, TLSClientConfig: rest.TLSClientConfig{ServerName: "api.example"}}), "\n")
	if !strings.Contains(got, "proxy-url") || !strings.Contains(got, "tls-server-name api.example") {
		t.Errorf("got %s", got)
	}
}

func TestProxyWarning(t *testing.T) {
	through := func(proxy string) func(*http.Request) (*url.URL, error) {
		return func(*http.Request) (*url.URL, error) {
			if proxy == "" {
				return nil, nil
			}
			return url.Parse(proxy)
		}
	}
	for name, tt := range map[string]struct {
		proxy string
		env   []corev1.EnvVar
		want  string
	}{
		"no proxy":            {"", nil, ""},
		"a proxy":             {"http://u:secret@proxy:3128", nil, "through the proxy http://u:xxxxx@proxy:3128, but the agents connect without"},
		"the agents have one": {"http://proxy:3128", []corev1.EnvVar{{Name: "https_proxy", Value: "x"}}, ""},
	} {
		got := proxyWarning("https://broker:6443", through(tt.proxy), tt.env)
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
