package exportedslice

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// source is a slice of the Service in its own cluster.
func source(version string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-x", ResourceVersion: version, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

// inputsOfSource returns the inputs for a slice of an exported Service.
func inputsOfSource(s *discoveryv1.EndpointSlice) inputsOf {
	of := inputsOf{service: web, exported: true, clusterIPs: []string{"10.0.0.1"}, export: &endpoints.Export{
		Cluster: "c1", Service: web, BrokerNamespace: "set", Ports: []mcsv1beta1.ServicePort{{Port: 80}},
	}}
	if s != nil {
		of.sources = []*discoveryv1.EndpointSlice{s}
	}
	return of
}

// ofRecord has the service's record have a revision.
func ofRecord(of inputsOf, revision int64) inputsOf {
	of.revision = revision
	return of
}

// published returns the broker's slice of a source slice, as this package writes it.
func published(s *discoveryv1.EndpointSlice, revision int64, withdrawn bool) *discoveryv1.EndpointSlice {
	of := inputsOfSource(s)
	slice, _ := of.want("web-x")
	layout.SetWithdrawn(slice, withdrawn)
	layout.SetRevision(slice, revision-1)
	if withdrawn {
		slice.Endpoints = nil
	}
	return slice
}

func TestDecide(t *testing.T) {
	one, two := source("7", "10.1.1.1"), source("9", "10.1.1.1", "10.1.1.2")
	for name, tt := range map[string]struct {
		have   *discoveryv1.EndpointSlice
		of     inputsOf
		gone   time.Duration
		writes int   // number of written endpoints, -1 for no write
		to     int64 // written revision
		ends   bool  // the write withdraws the slice
		delete bool
		wait   bool
	}{
		"a new slice":                     {of: inputsOfSource(one), writes: 1, to: 7},
		"of another export":               {of: ofRecord(inputsOfSource(one), 12), writes: 1, to: 12},
		"the same again":                  {have: published(one, 7, false), of: inputsOfSource(one), writes: -1},
		"an endpoint more":                {have: published(one, 7, false), of: inputsOfSource(two), writes: 2, to: 9},
		"after a restore of etcd":         {have: published(one, 70, false), of: inputsOfSource(two), writes: 2, to: 71},
		"its source is gone":              {have: published(one, 7, false), of: inputsOfSource(nil), writes: 0, to: 8, ends: true, wait: true},
		"its source is gone for a moment": {have: published(one, 7, false), of: inputsOfSource(nil), gone: withdrawDelay, writes: 0, to: 8, ends: true},
		"it has been withdrawn":           {have: published(one, 8, true), of: inputsOfSource(nil), gone: time.Minute, writes: -1, wait: true},
		"withdrawn for long":              {have: published(one, 8, true), of: inputsOfSource(nil), gone: keepWithdrawn, writes: -1, delete: true},
		"withdrawn, and back as it was":   {have: published(one, 8, true), of: inputsOfSource(one), writes: 1, to: 9},
		"the export has ended":            {have: published(one, 7, false), of: inputsOf{service: web}, writes: -1, delete: true},
		"nothing at all":                  {of: inputsOf{}, writes: -1},
		"its Service is gone, the record stands": {
			have: published(one, 7, false), of: inputsOf{service: web, exported: true, sources: []*discoveryv1.EndpointSlice{one}}, gone: time.Second, writes: 0, to: 8, ends: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, _ := tt.of.want("web-x")
			d := decide(tt.have, want, tt.of, tt.gone)
			if d.remove != tt.delete || (d.wait > 0) != tt.wait || (d.write == nil) != (tt.writes < 0) {
				t.Fatalf("the decision is %+v", d)
			}
			if d.write == nil {
				return
			}
			if len(d.write.Endpoints) != tt.writes || layout.Revision(d.write) != tt.to || layout.Withdrawn(d.write) != tt.ends {
				t.Errorf("the write is %+v", d.write)
			}
		})
	}
}

// A service publishes either pods or cluster IPs, never both.
func TestClusterIP(t *testing.T) {
	for _, byClusterIP := range []bool{false, true} {
		for _, clusterIP := range []bool{false, true} {
			of := inputsOfSource(source("7", "10.1.1.1"))
			of.byClusterIP, of.clusterIP = byClusterIP, clusterIP
			name := "web-x"
			if clusterIP {
				name = "web:ipv4"
			}
			if slice, _ := of.want(name); (slice != nil) != (clusterIP == byClusterIP) {
				t.Errorf("by cluster IP %t, for a cluster IP %t: %+v", byClusterIP, clusterIP, slice)
			}
		}
	}
}
