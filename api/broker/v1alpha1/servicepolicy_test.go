package v1alpha1

import (
	"fmt"
	"testing"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// A policy restricts the ports of an export. A policy about load balancers does not restrict
// users' exports.
func TestPolicyRestrictsPorts(t *testing.T) {
	ports := []mcsv1beta1.ServicePort{{Name: "http", Port: 80}, {Name: "dns", Port: 53, Protocol: "UDP"}, {Name: "dns-tcp", Port: 53}}
	http, dns := []PolicyPort{{Name: "http"}}, []PolicyPort{{Port: 53}}
	for _, tt := range []struct {
		name   string
		policy *ServicePolicySpec
		export ExportScope
		want   string
	}{
		{"no policy", nil, "", "[http dns dns-tcp]"},
		{"all ports", &ServicePolicySpec{Scope: ScopeClusterset}, "", "[http dns dns-tcp]"},
		{"by name", &ServicePolicySpec{Scope: ScopeClusterset, Ports: http}, "", "[http]"},
		{"by number", &ServicePolicySpec{Scope: ScopeClusterset, Ports: dns}, "", "[dns dns-tcp]"},
		{"by both", &ServicePolicySpec{Scope: ScopeClusterset, Ports: []PolicyPort{{Name: "dns", Port: 53}}}, "", "[dns]"},
		{"no matching port", &ServicePolicySpec{Scope: ScopeClusterset, Ports: []PolicyPort{{Name: "http", Port: 53}}}, "", "[]"},
		{"for the hub", &ServicePolicySpec{Scope: ScopeHub, Ports: http}, ScopeHub, "[http]"},
		{"for the hub, exported by a person", &ServicePolicySpec{Scope: ScopeHub, Ports: http}, "", "[http dns dns-tcp]"},
	} {
		got := []string{}
		restricted, some := tt.policy.Restrict(ExportedServiceSpec{Ports: ports, Scope: tt.export})
		for _, p := range restricted.Ports {
			got = append(got, p.Name)
		}
		if fmt.Sprint(got) != tt.want || some != (len(got) > 0) {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
	if len(ports) != 3 || ports[0].Name != "http" {
		t.Errorf("the Service's own ports became %v", ports)
	}
}

func TestProvidersAndConsumers(t *testing.T) {
	for _, tt := range []struct {
		policy             *ServicePolicySpec
		provides, consumes bool // of c1
	}{
		{&ServicePolicySpec{Scope: ScopeClusterset}, true, true},
		{&ServicePolicySpec{Scope: ScopeClusterset, Providers: []string{"c1"}, Consumers: []string{"c2"}}, true, false},
		{&ServicePolicySpec{Scope: ScopeClusterset, Providers: []string{"c2"}, Consumers: []string{"c2", "c1"}}, false, true},
		// Users' exports are still imported.
		{&ServicePolicySpec{Scope: ScopeHub}, true, true},
	} {
		if tt.policy.Provides("c1") != tt.provides || tt.policy.Consumes("c1") != tt.consumes {
			t.Errorf("%+v: provides %t, consumes %t", tt.policy, tt.policy.Provides("c1"), tt.policy.Consumes("c1"))
		}
	}
	if none := (*ServicePolicySpec)(nil); !none.Consumes("c1") {
		t.Error("without a policy everybody imports")
	}
}
