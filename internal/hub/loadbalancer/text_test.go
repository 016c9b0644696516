package loadbalancer

import (
	"strings"
	"testing"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Members choose text of conditions and Events, which people read in a terminal. It has no control characters there.
func TestNoControlCharacters(t *testing.T) {
	const hostile = "x\x1b[31m\r\n\u009b\u202e"
	list := records(map[string]ports{
		"c1": {{Name: hostile, Port: 80, Protocol: corev1.ProtocolTCP}}, "c2": {{Name: "http", Port: 80, Protocol: hostile}},
		"c3": {{Name: "http", Port: 80, AppProtocol: ptr.To(hostile)}}, "c4": {port("http", 80)}, "c5": {port("http", 80)}, "c6": {port("http", 80)},
	})
	list["c5"].Spec.Type = mcsv1beta1.ServiceImportType(hostile)
	given := []*discoveryv1.EndpointSlice{published("c4", []string{"http:8080"}, hostile), published("c6", []string{hostile + ":8080"}, "10.6.0.1")}
	given = append(given, published("c6", []string{"http:8080"}, "10.6.0.1"))
	given[2].Ports[0].Protocol, given[2].AddressType = ptr.To(corev1.Protocol(hostile)), hostile
	mcs := &networkingv1alpha1.MultiClusterService{}
	published := accepted(given, list)
	for _, slice := range given {
		validation.CleanSlice(slice)
	}
	hub := border.New(names.HubOwner, nil, border.NewBudget(border.Limits{}, nil))
	for cluster, record := range list {
		_, _ = hub.Transform(record)
		if state, detail := hub.State(record); state == border.Refused {
			published.refused.add(cluster, 1, detail)
		}
	}
	e := validateExports(mcs, noRules, published)
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	s, _ := forwards(mcs, service, e)
	message := outcome{forwarding: forwarding{service: s, refused: e.refused, unmatched: unmatched(s, e)}}.accepted().Message
	if at := strings.IndexFunc(message, func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 {
		t.Errorf("character %d is not printable: %q", at, message)
	}
	for _, cluster := range []string{"c1", "c2", "c3", "c4", "c6"} {
		if e.refused[cluster].count == 0 {
			t.Errorf("nothing of cluster %s is refused: %s", cluster, message)
		}
	}
}
