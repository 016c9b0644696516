package setup

import (
	"errors"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// Before Kubernetes 1.33, a join without --service-cidr warns, and a join in mode cluster-ip fails.
func TestServiceRanges(t *testing.T) {
	const published, policies = "networking.k8s.io/v1/servicecidrs", "networking.k8s.io/v1/networkpolicies"
	const warning = "only its default IP family. Use the value of the API server's --service-cluster-ip-range, once per IP family: atoll join FILE --service-cidr RANGE --context c1"
	for name, tt := range map[string]struct {
		resource      string
		request       JoinRequest
		warning, hint string
	}{
		"Kubernetes 1.33":                {published, JoinRequest{}, "", ""},
		"Kubernetes 1.33 and cluster-ip": {published, JoinRequest{ByClusterIP: true}, "", ""},
		"Kubernetes 1.32":                {policies, JoinRequest{}, warning, ""},
		"with the flag":                  {policies, JoinRequest{ServiceCIDRs: []string{"10.96.0.0/16"}}, "", ""},
		"cluster-ip with the flag":       {policies, JoinRequest{ServiceCIDRs: []string{"10.96.0.0/16"}, ByClusterIP: true}, "", ""},
		"cluster-ip without the flag":    {policies, JoinRequest{ByClusterIP: true}, "", "atoll join FILE --service-cidr RANGE --context c1 --advertise-mode cluster-ip"},
		"agents outside the cluster":     {policies, JoinRequest{ByClusterIP: true, Member: render.Member{NoWorkloads: true}}, "", ""},
	} {
		server := apiServer(t, "v1.32.0", tt.resource)
		server.On = command.At("", "c1")
		got, err := serviceRanges(server, tt.request)
		if !strings.HasSuffix(got, tt.warning) || tt.warning == "" && got != "" {
			t.Errorf("%s: the warning is %q", name, got)
		}
		var h *Hint
		if (err != nil) != (tt.hint != "") || tt.hint != "" && (!errors.As(err, &h) || !strings.HasSuffix(h.Next, tt.hint)) {
			t.Errorf("%s: %v (%+v)", name, err, h)
		}
	}
}
