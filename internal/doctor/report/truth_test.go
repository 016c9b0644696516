package report

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// foreignSlice is a slice of the derived Service that another controller or person wrote.
func foreignSlice(name, manager string) discoveryv1.EndpointSlice {
	return discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web-clusterset", discoveryv1.LabelManagedBy: manager},
	}}
}

// ready sets the condition Ready of the import.
func ready(s *survey.Survey, status metav1.ConditionStatus, reason string, since metav1.Time) {
	s.Cluster.Imports[0].Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: "why", LastTransitionTime: since}}
}

// falls leaves one endpoint, which is not ready.
func falls(s *survey.Survey, serving, terminating bool) {
	s.Cluster.Slices = s.Cluster.Slices[:1]
	s.Cluster.Slices[0].Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: &serving, Terminating: &terminating}
}

// explain says "works" only if everything wanted is so.
func TestExplainNeverWorksWrongly(t *testing.T) {
	derivedSpec := func(s *survey.Survey) *corev1.ServiceSpec { return &s.Cluster.Services[0].Spec }
	for name, tt := range map[string]struct {
		breaks  func(*survey.Survey)
		verdict Verdict
		want    string // part of the findings; "" for none
		do      string // part of a fix
	}{
		"all is well": {func(*survey.Survey) {}, Works, "", ""},
		"no slice has the port": {func(s *survey.Survey) {
			for i := range s.Cluster.Slices {
				s.Cluster.Slices[i].Ports[0].Name = ptr.To("other")
			}
		}, DoesNotWork, "No ready endpoint serves http:80/TCP at 10.96.0.9", "kubectl get endpointslices -n shop -l kubernetes.io/service-name=web --context CONTEXT_OF_CLUSTER"},
		"no slice has the protocol": {func(s *survey.Survey) {
			for i := range s.Cluster.Slices {
				s.Cluster.Slices[i].Ports[0].Protocol = ptr.To(corev1.ProtocolUDP)
			}
		}, DoesNotWork, "No ready endpoint serves http:80/TCP at 10.96.0.9", ""},
		"no slice has a port number": {func(s *survey.Survey) {
			for i := range s.Cluster.Slices {
				s.Cluster.Slices[i].Ports[0].Port = nil
			}
		}, DoesNotWork, "No ready endpoint serves", ""},
		"one of two ports is not served": {func(s *survey.Survey) {
			admin := mcsv1beta1.ServicePort{Name: "admin", Port: 81}
			s.Cluster.Imports[0].Spec.Ports = append(s.Cluster.Imports[0].Spec.Ports, admin)
			derivedSpec(s).Ports = append(derivedSpec(s).Ports, corev1.ServicePort{Name: "admin", Port: 81})
		}, WorksInPart, "No ready endpoint serves admin:81/TCP at 10.96.0.9", ""},
		"one of two families is not served": {func(s *survey.Survey) {
			s.Cluster.Imports[0].Spec.IPs = append(s.Cluster.Imports[0].Spec.IPs, "fd00::9")
			derivedSpec(s).ClusterIPs = append(derivedSpec(s).ClusterIPs, "fd00::9")
		}, WorksInPart, "No ready endpoint serves http:80/TCP at fd00::9", ""},
		"only a terminating endpoint serves": {func(s *survey.Survey) { falls(s, true, true) }, WorksInPart, "warning endpoints: No ready endpoint serves http:80/TCP at 10.96.0.9. Connections go to endpoints that are terminating or on standby, but still serve.", ""},
		"only an endpoint on standby serves": {func(s *survey.Survey) {
			falls(s, true, true)
			s.Cluster.Slices[0].Labels[names.LabelStandby] = "Drained"
		}, WorksInPart, "warning endpoints: No ready endpoint serves http:80/TCP at 10.96.0.9. Connections go to endpoints that are terminating or on standby, but still serve.", ""},
		"a terminating endpoint no longer serves": {func(s *survey.Survey) { falls(s, false, true) }, DoesNotWork, "error endpoints: No endpoint is ready. Connections to the service are refused.", ""},
		"an endpoint serves but is not ready":     {func(s *survey.Survey) { falls(s, true, false) }, DoesNotWork, "error endpoints: No endpoint is ready. Connections to the service are refused.", ""},
		"a terminating endpoint lacks the port": {func(s *survey.Survey) {
			falls(s, true, true)
			s.Cluster.Slices[0].Ports[0].Name = ptr.To("other")
		}, DoesNotWork, "error endpoints: No endpoint is ready. Connections to the service are refused.", ""},
		"headless, only a terminating endpoint serves": {func(s *survey.Survey) {
			falls(s, true, true)
			s.Cluster.Imports[0].Spec.Type, s.Cluster.Imports[0].Spec.IPs = mcsv1beta1.Headless, nil
		}, DoesNotWork, "error endpoints: No endpoint is ready, so the name does not resolve to an address.", ""},
		"an endpoint is refused": {func(s *survey.Survey) {
			s.Broker.Slices[0].Endpoints = append(s.Broker.Slices[0].Endpoints, discoveryv1.Endpoint{Addresses: []string{"127.0.0.1"}})
			s.Cluster.Imports[0].Status.Conditions[0].Message = `The service is imported. Some endpoints of cluster "c1" are not imported: 127.0.0.1 is a loopback address.`
		}, WorksInPart, `warning import: Some published endpoints are not imported. The condition Ready of ServiceImport shop/web says: The service is imported. Some endpoints of cluster "c1" are not imported: 127.0.0.1 is a loopback address.`, ""},
		"all endpoints are refused": {func(s *survey.Survey) {
			s.Cluster.Slices = nil
			s.Cluster.Imports[0].Status.Conditions[0].Message = `Some endpoints of cluster "c2" are not imported: loopback.`
		}, DoesNotWork, `Some endpoints of cluster "c2" are not imported: loopback.`, ""},
		"the condition names a cluster whose endpoints are all here": {func(s *survey.Survey) {
			s.Cluster.Imports[0].Status.Conditions[0].Message = `This cluster ignores the weights of cluster "c1".`
		}, Works, "", ""},
		"the import is rejected": {func(s *survey.Survey) {
			s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services = nil, nil, nil
			s.Cluster.Rejected = map[types.NamespacedName]survey.Rejection{web: {At: ago(5).Time, Message: "The API server's message: exceeded quota"}, {Namespace: "shop", Name: "db"}: {}}
		}, DoesNotWork, "error import: This cluster has no ServiceImport of the service. An Event of 2026-01-02T03:04:00Z says: The API server's message: exceeded quota", "kubectl get events -n shop --field-selector reason=ImportRefused --context c3"},
		"the import is rejected, and the broker is away": {func(s *survey.Survey) {
			s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services, s.Broker, s.BrokerErr = nil, nil, nil, nil, errors.New("timeout")
			s.Cluster.Rejected = map[types.NamespacedName]survey.Rejection{web: {At: ago(5).Time, Message: "exceeded quota"}}
		}, DoesNotWork, "says: exceeded quota", ""},
		"the import was rejected earlier": {func(s *survey.Survey) {
			s.Cluster.Rejected = map[types.NamespacedName]survey.Rejection{web: {}}
		}, Works, "", ""},
		"the status of the import is rejected": {func(s *survey.Survey) {
			s.Cluster.StatusRefused = map[corev1.ObjectReference]survey.Rejection{{Kind: "ServiceImport", Namespace: "shop", Name: "web"}: {At: ago(60).Time, Message: "denied"}}
		}, WorksInPart, "warning serviceimport shop/web: The conditions of this object may be outdated. An Event of ", "quota"},
		"the status of the import was rejected earlier": {func(s *survey.Survey) {
			s.Cluster.StatusRefused = map[corev1.ObjectReference]survey.Rejection{{Kind: "ServiceImport", Namespace: "shop", Name: "web"}: {At: ago(3600).Time, Message: "denied"}}
		}, Works, "", ""},
		"an EndpointSlice is left over":      {func(s *survey.Survey) { s.Broker.Exports = s.Broker.Exports[:1] }, WorksInPart, "pending import shop/web: Cluster c1 no longer exports the service, but its EndpointSlices still exist in this cluster", "logs"},
		"one cluster's slices lack the port": {func(s *survey.Survey) { s.Cluster.Slices[0].Ports = nil }, WorksInPart, "", ""},
		"a ready endpoint is not imported": {func(s *survey.Survey) {
			s.Broker.Slices[0].Endpoints = append(s.Broker.Slices[0].Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.1.0.2"}})
		}, WorksInPart, "", ""},
		"an endpoint of a family that the import does not have": {func(s *survey.Survey) {
			v6 := slicesOf("c1", "fd00::1")
			v6.AddressType = discoveryv1.AddressTypeIPv6
			s.Broker.Slices = append(s.Broker.Slices, v6)
			s.Cluster.Imports[0].Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		}, Works, "", ""},
		"headless, without ports": {func(s *survey.Survey) {
			s.Cluster.Imports[0].Spec.Type, s.Cluster.Imports[0].Spec.IPs, s.Cluster.Imports[0].Spec.Ports = mcsv1beta1.Headless, nil, nil
			s.Cluster.Slices[0].Ports, s.Cluster.Slices[1].Ports = nil, nil
		}, Works, "", ""},
		"slices that a selector left": {func(s *survey.Survey) {
			s.Cluster.Foreign = []discoveryv1.EndpointSlice{foreignSlice("web-b", "endpointslice-controller.k8s.io"), foreignSlice("web-a", "")}
		}, WorksInPart, "error endpoints of shop/web-clusterset: Derived Service shop/web-clusterset has EndpointSlices that Atoll does not manage: web-a, web-b.", "kubectl delete endpointslice web-a web-b -n shop --context c3"},
		"mirrored Endpoints": {func(s *survey.Survey) {
			s.Cluster.Foreign = []discoveryv1.EndpointSlice{foreignSlice("web-m", mirrors)}
		}, WorksInPart, "that Atoll does not manage: web-m", "Delete them: kubectl delete endpoints web-clusterset -n shop --context c3"},
		"one silent member": {func(s *survey.Survey) { s.Broker.Heartbeats = s.Broker.Heartbeats[1:] },
			WorksInPart, "warning cluster c1: The broker has no heartbeat from cluster c1.", "atoll status --context CONTEXT_OF_c1"},
		"only silent members": {func(s *survey.Survey) {
			s.Broker.Heartbeats[0].ManagedFields[0].Time, s.Broker.Heartbeats[1].ManagedFields[0].Time = ptr.To(ago(90)), ptr.To(ago(60))
		}, CannotTell, "No heartbeat from cluster c1 for 1m30s.", ""},
		"a cluster that is no member": {func(s *survey.Survey) { s.Broker.Members = s.Broker.Members[1:] }, WorksInPart, "no heartbeat from cluster c1", ""},
		"a lost cluster whose endpoints are kept": {func(s *survey.Survey) { s.Cluster.Withdrawn = map[string]string{"c1": "t"} },
			WorksInPart, "This cluster still uses its last known endpoints", ""},
		"the derived Service is gone":        {func(s *survey.Survey) { s.Cluster.Services = nil }, DoesNotWork, "derived Service of ServiceImport shop/web does not exist", "atoll status --context c3"},
		"the derived Service has another IP": {func(s *survey.Survey) { derivedSpec(s).ClusterIPs = []string{"10.96.0.8"} }, DoesNotWork, "has the clusterset IP 10.96.0.9, but the derived Service has 10.96.0.8", ""},
		"the port has no name": {func(s *survey.Survey) {
			s.Cluster.Imports[0].Spec.Ports[0].Name = ""
			derivedSpec(s).Ports[0].Name = "80-tcp"
			for i := range s.Cluster.Slices {
				s.Cluster.Slices[i].Ports[0].Name = ptr.To("80-tcp")
			}
		}, Works, "", ""},
		"the derived Service has another port": {func(s *survey.Survey) { derivedSpec(s).Ports[0].Port = 81 }, DoesNotWork, "The derived Service lacks the ports http:80/TCP", ""},
		"another server answers for the name": {func(s *survey.Survey) {
			s.Cluster.DNS.Below = []dnswiring.Below{{Zone: "web.shop.svc.clusterset.local", Text: "the block answers"}}
		}, CannotTell, "warning DNS: The block answers.", ""},
		"another server answers for the namespace": {func(s *survey.Survey) {
			s.Cluster.DNS.Below = []dnswiring.Below{{Zone: "shop.svc.clusterset.local", Text: "the block answers"}}
		}, CannotTell, "warning DNS: The block answers.", ""},
		"another server answers for one pod": {func(s *survey.Survey) {
			s.Cluster.DNS.Below = []dnswiring.Below{{Zone: "a.c1.web.shop.svc.clusterset.local", Text: "the block answers"}}
		}, WorksInPart, "warning DNS: The block answers.", ""},
		"another server answers for another name": {func(s *survey.Survey) {
			s.Cluster.DNS.Below = []dnswiring.Below{{Zone: "b.shop.svc.clusterset.local", Text: "the block answers"}}
		}, Works, "", ""},
		"CoreDNS may not start": {func(s *survey.Survey) { s.Cluster.DNS.Suspects = []string{"the directive x is no plugin"} },
			WorksInPart, "warning DNS: The directive x is no plugin.", ""},
		"the cluster's DNS is down": {func(s *survey.Survey) { s.Cluster.DNS.Down = "Deployment kube-system/coredns" },
			DoesNotWork, "error DNS: No pod of the cluster's DNS is available", "kubectl get deployments,daemonsets,pods -n kube-system --context c3"},
		"the cluster's DNS is down behind a cache": {func(s *survey.Survey) {
			s.Cluster.DNS.Down = "Deployment kube-system/coredns"
			s.Cluster.DNS.Found = append(s.Cluster.DNS.Found, dnswiring.NodeLocal)
			s.Cluster.DNS.Wired = append(s.Cluster.DNS.Wired, dnswiring.NodeLocal)
		}, WorksInPart, "error DNS: No pod of the cluster's DNS is available", ""},
		"the DNS has a plugin that Atoll does not know": {func(s *survey.Survey) {
			s.Cluster.DNS.Wired, s.Cluster.DNS.Unknown = nil, []dnswiring.Form{dnswiring.CoreDNS}
		}, CannotTell, "warning DNS: Atoll cannot tell whether coredns forwards", "atoll check --context c3"},
		"the derived Service has a selector":   {func(s *survey.Survey) { derivedSpec(s).Selector = map[string]string{"a": "b"} }, WorksInPart, "set a selector on the derived Service", ""},
		"the derived Service is being deleted": {func(s *survey.Survey) { s.Cluster.Services[0].DeletionTimestamp = ptr.To(ago(5)) }, WorksInPart, "The derived Service is being deleted", ""},
		"only endpoints of the own node, and there is none": {func(s *survey.Survey) {
			derivedSpec(s).InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		},
			DoesNotWork, "pods reach only endpoints on their own node, and no endpoints of other clusters", ""},
		"only endpoints of the own node": {func(s *survey.Survey) {
			derivedSpec(s).InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
			s.Cluster.Slices[0].Endpoints[0].NodeName = ptr.To("n1")
		}, WorksInPart, "pods reach only endpoints on their own node", ""},
		"all endpoints": {func(s *survey.Survey) {
			derivedSpec(s).InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
		}, Works, "", ""},
		"Ready is Unknown":                   {func(s *survey.Survey) { ready(s, "Unknown", "Pending", ago(5)) }, WorksInPart, "pending import: why", ""},
		"Ready is Unknown for long":          {func(s *survey.Survey) { ready(s, "Unknown", "Pending", ago(61)) }, WorksInPart, "error import: why", ""},
		"Ready is False":                     {func(s *survey.Survey) { ready(s, "False", "Failed", ago(5)) }, WorksInPart, "error import: why", ""},
		"no condition":                       {func(s *survey.Survey) { s.Cluster.Imports[0].Status.Conditions = nil }, WorksInPart, "pending import: No agent has processed", ""},
		"a condition of an older generation": {func(s *survey.Survey) { s.Cluster.Imports[0].Generation = 2 }, WorksInPart, "have not processed the latest change", ""},
		"the import is being deleted": {func(s *survey.Survey) {
			s.Cluster.Imports[0].DeletionTimestamp, s.Cluster.Imports[0].Finalizers = ptr.To(ago(5)), []string{"a/b"}
		}, WorksInPart, "warning import: This ServiceImport is being deleted, so Atoll no longer uses the ServiceImport. The deletion waits for the finalizers a/b.", ""},
		"the namespace is being deleted": {func(s *survey.Survey) { s.Cluster.Namespaces[0].DeletionTimestamp = ptr.To(ago(5)) }, WorksInPart, "Namespace shop of this cluster is being deleted", "kubectl get namespace shop -o yaml --context c3"},
		"an import without the label": {func(s *survey.Survey) {
			s.Cluster.Imports[0].Labels = nil
			s.Cluster.Imports[0].Annotations[names.AnnotationApplied] = "c1=1,c2=1"
		}, Works, "", ""},
		"another implementation's import": {func(s *survey.Survey) { s.Cluster.Imports[0].Labels[names.LabelManagedBy] = "x" }, CannotTell, "Atoll does not manage the ServiceImport", "kubectl label serviceimport web -n shop --overwrite atoll.dev/managed-by=agent.atoll.dev --context c3"},
		"a new import that the agents may adopt": {func(s *survey.Survey) {
			i := &s.Cluster.Imports[0]
			i.Labels, i.Annotations, i.Status, i.CreationTimestamp = nil, nil, mcsv1beta1.ServiceImportStatus{}, ago(3)
		}, DoesNotWork, "pending import: Another tool or person created this ServiceImport. If a cluster exports the service, the agents adopt", ""},
		"the own Service is being deleted": {func(s *survey.Survey) {
			s.Cluster.Services = append(s.Cluster.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", DeletionTimestamp: ptr.To(ago(5)), Finalizers: []string{"lb/x"}}})
		}, WorksInPart, "Service shop/web of this cluster is being deleted. The deletion waits for the finalizers lb/x. The Service still exists and serves.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := clusterset()
			s.On = " --context c3"
			tt.breaks(s)
			x := Explain(s, web)
			got, do := told(x.Findings), ""
			for _, f := range x.Findings {
				do += f.Do + "\n"
			}
			if x.Verdict != tt.verdict || !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") || !strings.Contains(do, tt.do) {
				t.Errorf("verdict %s, findings:\n%s\nfixes:\n%s\nwant %s, %s, %s", x.Verdict, got, do, tt.verdict, tt.want, tt.do)
			}
		})
	}
}

// `atoll get imports` counts the endpoints that serve clients.
func TestImportsCountServingEndpoints(t *testing.T) {
	s := clusterset()
	s.Cluster.Slices[0].Ports[0].Name = ptr.To("other")
	if got := Imports(s)[0]; got.ReadyEndpoints != 1 || got.Endpoints != 2 {
		t.Errorf("%d of %d endpoints serve, want 1 of 2", got.ReadyEndpoints, got.Endpoints)
	}
	s.Cluster.Slices[1].Endpoints[0].Conditions.Ready = ptr.To(false)
	if got := Imports(s)[0]; got.ReadyEndpoints != 0 {
		t.Errorf("%d endpoints serve, want none", got.ReadyEndpoints)
	}
}

// The status reports foreign slices and imports, and objects whose condition is Unknown.
func TestStatusOfObjects(t *testing.T) {
	for name, tt := range map[string]struct {
		breaks func(*survey.Survey)
		want   string
	}{
		"foreign slices": {func(s *survey.Survey) { s.Cluster.Foreign = []discoveryv1.EndpointSlice{foreignSlice("web-a", "")} },
			"error endpoints of shop/web-clusterset: Derived Service shop/web-clusterset has EndpointSlices"},
		"a rejected import": {func(s *survey.Survey) {
			s.Cluster.Imports, s.Cluster.Services, s.Cluster.Slices = nil, nil, nil
			s.Cluster.Rejected = map[types.NamespacedName]survey.Rejection{web: {At: ago(5).Time, Message: "exceeded quota"}, {Namespace: "shop", Name: "unexported"}: {}}
		}, "error import shop/web: This cluster has no ServiceImport of the service. An Event of 2026-01-02T03:04:00Z says: exceeded quota"},
		"a pending import":        {func(s *survey.Survey) { ready(s, "Unknown", "Pending", ago(5)) }, "pending import shop/web: why"},
		"an import that hangs":    {func(s *survey.Survey) { ready(s, "Unknown", "Pending", ago(65)) }, "error import shop/web: Pending: why"},
		"an import without ports": {func(s *survey.Survey) { ready(s, "False", "Pending", ago(65)) }, "error import shop/web: Pending: why"},
		"a pending export": {func(s *survey.Survey) {
			own(s, metav1.Condition{Type: "Ready", Status: "Unknown", Reason: "Pending", Message: "why"})
		}, "pending export shop/web: why"},
		"a failed export": {func(s *survey.Survey) {
			own(s, metav1.Condition{Type: "Ready", Status: "False", Reason: "Failed", Message: "why"})
		}, "error export shop/web: Failed: why"},
		"an import that agents adopt": {func(s *survey.Survey) {
			i := &s.Cluster.Imports[0]
			i.Labels, i.Annotations, i.Status, i.CreationTimestamp = map[string]string{"app": "web"}, nil, mcsv1beta1.ServiceImportStatus{}, ago(5)
		}, "pending import shop/web: Another tool or person created this ServiceImport. If a cluster"},
		"a new import of another implementation": {func(s *survey.Survey) {
			i := &s.Cluster.Imports[0]
			i.Labels, i.Annotations, i.Status, i.CreationTimestamp = map[string]string{"lighthouse.submariner.io/sourceCluster": "c9"}, nil, mcsv1beta1.ServiceImportStatus{}, ago(5)
		}, "warning import shop/web: Another tool or person created this ServiceImport, and Atoll"},
		"another tool's import": {func(s *survey.Survey) { s.Cluster.Imports[0].Labels = nil }, "warning import shop/web: Another tool or person created this ServiceImport, and Atoll"},
	} {
		s := clusterset()
		tt.breaks(s)
		if got := told(NewStatus(s).Findings); !strings.HasPrefix(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %s\nwant %s", name, got, tt.want)
		}
	}
}

// An export that clusters do not import, or not with all ports, is not called published or ready. The agents publish only
// the exposed ports.
func TestRestrictedExports(t *testing.T) {
	const hub, ofClusterset, everything = brokerv1alpha1.ScopeHub, brokerv1alpha1.ScopeClusterset, ""
	const only, out = "The MultiClusterService exposes only the ports 80. Other ports of the Service cannot be reached.", "The MultiClusterService does not expose the ports admin:81/TCP. These ports cannot be reached."
	const balanced = "HubOnly Only the load balancers of the MultiClusterService use this export. Clusters do not import the export."
	for name, tt := range map[string]struct {
		record, policy brokerv1alpha1.ExportScope
		exposed        int32
		other, own     string // status and message of another cluster's export and of the own one
	}{
		"of the clusterset":       {everything, "", 0, "Published ", "Ready The Service is exported to the clusterset."},
		"of the hub":              {hub, hub, 0, balanced, balanced},
		"of the hub, in part":     {hub, hub, 80, balanced + " " + only, balanced + " " + out},
		"exported by people too":  {everything, hub, 80, "Published ", "Ready The Service is exported to the clusterset."},
		"with one port left out":  {everything, ofClusterset, 80, "PortsRestricted " + only, "PortsRestricted " + out},
		"with all ports left out": {everything, ofClusterset, 9, "NoPortExposed The MultiClusterService exposes no port of this export, so no cluster imports the export.", "NoPortExposed The MultiClusterService exposes no port of this export, so no cluster imports the export."},
	} {
		s := clusterset()
		s.Cluster.Imports, s.Cluster.Slices = nil, nil
		s.ClusterID = "c1"
		own(s, metav1.Condition{Type: "Ready", Status: "True", Reason: "Exported", Message: "The Service is exported to the clusterset."})
		s.Cluster.Services = append(s.Cluster.Services, corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 81}}},
		})
		for i := range s.Broker.Exports {
			s.Broker.Exports[i].Spec.Scope = tt.record
		}
		if tt.policy != "" {
			policy := brokerv1alpha1.ServicePolicySpec{ServiceNamespace: "shop", ServiceName: "web", Scope: tt.policy}
			if tt.exposed != 0 {
				policy.Ports = []brokerv1alpha1.PolicyPort{{Port: tt.exposed}}
			}
			s.Broker.Policies = []brokerv1alpha1.ServicePolicy{{Spec: policy}}
		}
		all := Exports(s)
		if got := all[1].Status + " " + all[1].Message; got != tt.other {
			t.Errorf("%s: the export of another cluster is %s\nwant %s", name, got, tt.other)
		}
		if got := all[0].Status + " " + all[0].Message; got != tt.own {
			t.Errorf("%s: the own export is %s\nwant %s", name, got, tt.own)
		}
		x := Explain(s, web)
		if x.Verdict != DoesNotWork {
			t.Errorf("%s: verdict %s without an import", name, x.Verdict)
		}
		if got := told(x.Findings); (tt.record == hub) != strings.Contains(got, "Only the load balancers of the MultiClusterService use this service") {
			t.Errorf("%s: findings %s", name, got)
		}
	}
	// A policy that exposes all ports leaves nothing out.
	s := clusterset()
	s.ClusterID = "c1"
	own(s, metav1.Condition{Type: "Ready", Status: "True", Reason: "Exported"})
	s.Cluster.Services = append(s.Cluster.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}})
	s.Broker.Policies = []brokerv1alpha1.ServicePolicy{{Spec: brokerv1alpha1.ServicePolicySpec{ServiceNamespace: "shop", ServiceName: "web", Scope: ofClusterset, Ports: []brokerv1alpha1.PolicyPort{{Name: "http"}}}}}
	if got := Exports(s)[0].Status; got != "Ready" {
		t.Errorf("all ports are exposed: the own export is %s", got)
	}
}
