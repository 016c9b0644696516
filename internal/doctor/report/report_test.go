package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(seconds int) metav1.Time {
	return metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second))
}

// clusterset is a clusterset of three clusters, seen from c3: c1 and c2 export shop/web, and c3
// imports it with an endpoint of each.
func clusterset() *survey.Survey {
	s := &survey.Survey{ClusterID: "c3", Clusterset: "set", Server: "https://broker"}
	s.Broker = &survey.Broker{At: now, RoundTrip: 3 * time.Millisecond}
	for i, id := range []string{"c1", "c2", "c3"} {
		s.Broker.Members = append(s.Broker.Members, brokerv1alpha1.MemberCluster{
			ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: brokerv1alpha1.MemberClusterSpec{AgentVersion: "v1", AdvertiseMode: "pods"},
		})
		s.Broker.Heartbeats = append(s.Broker.Heartbeats, coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: id, CreationTimestamp: ago(9999), ManagedFields: []metav1.ManagedFieldsEntry{{Time: ptr.To(ago(i + 1))}},
		}})
	}
	s.Broker.Exports = []brokerv1alpha1.ExportedService{exported("c2", 50), exported("c1", 100)}
	s.Broker.Slices = []discoveryv1.EndpointSlice{slicesOf("c1", "10.1.0.1"), slicesOf("c2", "10.2.0.1")}
	s.Cluster.Namespaces = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, {ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}}
	imp := mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", Labels: map[string]string{names.LabelManagedBy: names.AgentManager},
			Annotations: map[string]string{names.AnnotationDerivedService: "web-clusterset"},
		},
		Spec: mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP, IPs: []string{"10.96.0.9"}, Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80}}},
		Status: mcsv1beta1.ServiceImportStatus{
			Clusters:   []mcsv1beta1.ClusterStatus{{Cluster: "c1"}, {Cluster: "c2"}},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}},
		},
	}
	s.Cluster.Imports = []mcsv1beta1.ServiceImport{imp}
	s.Cluster.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-clusterset", Labels: map[string]string{names.LabelManagedBy: names.AgentManager, names.LabelServiceName: "web"},
	}, Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.96.0.9"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}}}}
	s.Cluster.Slices = []discoveryv1.EndpointSlice{slicesOf("c1", "10.1.0.1"), slicesOf("c2", "10.2.0.1")}
	s.Cluster.Deployments = map[string]appsv1.Deployment{}
	for _, name := range []string{render.AgentName, render.DNSName} {
		s.Cluster.Deployments[name] = appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(2))}, Status: appsv1.DeploymentStatus{ReadyReplicas: 2}}
	}
	s.Cluster.DNS = survey.DNS{Found: []dnswiring.Form{dnswiring.CoreDNS}, Wired: []dnswiring.Form{dnswiring.CoreDNS}}
	return s
}

func exported(cluster string, seconds int) brokerv1alpha1.ExportedService {
	return brokerv1alpha1.ExportedService{Spec: brokerv1alpha1.ExportedServiceSpec{
		ClusterID: cluster, ServiceNamespace: "shop", ServiceName: "web", ExportedAt: ago(seconds), Type: mcsv1beta1.ClusterSetIP,
		Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80}}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
	}}
}

func slicesOf(cluster string, addresses ...string) discoveryv1.EndpointSlice {
	s := discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web." + cluster, Labels: map[string]string{names.LabelServiceName: "web", names.LabelSourceCluster: cluster}},
		Ports:      []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
	}
	for _, address := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return s
}

// own adds an export of the service in the surveyed cluster, with a condition.
func own(s *survey.Survey, condition metav1.Condition) {
	s.Cluster.Exports = append(s.Cluster.Exports, mcsv1beta1.ServiceExport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", CreationTimestamp: ago(10)},
		Status:     mcsv1beta1.ServiceExportStatus{Conditions: []metav1.Condition{condition}},
	})
}

// told formats findings for tests: severity, subject, and message.
func told(findings []Finding) string {
	var lines []string
	for _, f := range findings {
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Severity, f.About, f.Message))
	}
	return strings.Join(lines, "\n")
}

// explain finds everything that keeps a service from working, and nothing else.
func TestExplainFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		breaks  func(*survey.Survey)
		verdict Verdict
		want    string // beginnings of the findings, in order, one per line
	}{
		"all is well": {func(*survey.Survey) {}, Works, ""},
		"no cluster exports the service": {func(s *survey.Survey) {
			s.Broker.Exports, s.Broker.Slices, s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services = nil, nil, nil, nil, nil
		}, DoesNotWork, "error export: No cluster exports this service."},
		"no cluster exports the service, but it exists here": {func(s *survey.Survey) {
			s.Broker.Exports, s.Broker.Slices, s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services = nil, nil, nil, nil, nil
			s.Cluster.Services = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
		}, DoesNotWork, "error export: No cluster exports this service. This cluster has"},
		"no namespace": {func(s *survey.Survey) {
			s.Cluster.Namespaces, s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services = s.Cluster.Namespaces[1:], nil, nil, nil
		}, DoesNotWork, "error import: This cluster has no namespace shop"},
		"not imported yet": {func(s *survey.Survey) { s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services = nil, nil, nil },
			DoesNotWork, "pending import: This cluster has no ServiceImport of the service yet"},
		"another tool's import": {func(s *survey.Survey) { s.Cluster.Imports[0].Labels, s.Cluster.Slices = nil, nil },
			DoesNotWork, "error import: Another tool or person created this ServiceImport"},
		"an import that fails": {func(s *survey.Survey) {
			s.Cluster.Imports[0].Status.Conditions[0] = metav1.Condition{Type: "Ready", Status: "False", Reason: "IPFamilyNotSupported", Message: "no IPv6"}
		}, WorksInPart, "error import: no IPv6"},
		"not for this cluster": {func(s *survey.Survey) {
			s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services = nil, nil, nil
			s.Broker.Policies = []brokerv1alpha1.ServicePolicy{{Spec: brokerv1alpha1.ServicePolicySpec{
				ServiceNamespace: "shop", ServiceName: "web", Scope: brokerv1alpha1.ScopeClusterset, Consumers: []string{"c1"},
			}}}
		}, DoesNotWork, "error import: The hub's MultiClusterService lets other"},
		"No endpoint is ready": {func(s *survey.Survey) {
			for i := range s.Cluster.Slices {
				s.Cluster.Slices[i].Endpoints[0].Conditions.Ready = ptr.To(false)
			}
		}, DoesNotWork, "error endpoints: No endpoint is ready"},
		"DNS is not wired": {func(s *survey.Survey) { s.Cluster.DNS.Wired = nil }, DoesNotWork, "error DNS: This cluster's DNS servers do not forward"},
		"DNS is wired in part": {func(s *survey.Survey) { s.Cluster.DNS.Found = append(s.Cluster.DNS.Found, dnswiring.NodeLocal) },
			WorksInPart, "warning DNS: Only some of this cluster's DNS servers forward clusterset.local to atoll-dns. Pods that use nodelocal cannot resolve names of the clusterset"},
		"DNS is wired to an address that atoll-dns does not have": {func(s *survey.Survey) {
			s.Cluster.DNS.Elsewhere, s.Cluster.DNS.Servers = []string{"10.96.0.99"}, []string{"10.96.0.53"}
		}, WorksInPart, "warning DNS: The cluster's DNS forwards clusterset.local to 10.96.0.99, but atoll-dns has the address 10.96.0.53."},
		"atoll-dns has stopped": {func(s *survey.Survey) { s.Cluster.Deployments[render.DNSName] = appsv1.Deployment{} },
			DoesNotWork, "error DNS: No atoll-dns pod is ready"},
		"another DNS server answers": {func(s *survey.Survey) {
			s.Cluster.Deployments[render.DNSName] = appsv1.Deployment{}
			s.Cluster.DNS = survey.DNS{}
		}, Works, ""},
		"no agent runs": {func(s *survey.Survey) { s.Cluster.Deployments[render.AgentName] = appsv1.Deployment{} },
			WorksInPart, "warning agent: No atoll-agent pod is ready"},
		"no agent has imported the service": {func(s *survey.Survey) {
			s.Cluster.Deployments[render.AgentName] = appsv1.Deployment{}
			s.Cluster.Imports, s.Cluster.Slices, s.Cluster.Services = nil, nil, nil
		}, DoesNotWork, "warning agent: No atoll-agent pod is ready"},
		"the broker is away": {func(s *survey.Survey) { s.Broker, s.BrokerErr = nil, fmt.Errorf("timeout") },
			CannotTell, "warning broker: The broker cannot be read"},
		"no member": {func(s *survey.Survey) {
			*s = survey.Survey{BrokerErr: survey.ErrNotJoined}
		}, DoesNotWork, "error membership: this cluster is not a member"},
		"own export without a Service": {func(s *survey.Survey) {
			own(s, metav1.Condition{Type: "Valid", Status: "False", Reason: "NoService", Message: "there is none"})
		}, WorksInPart, "error export: there is none"},
		"own export in conflict": {func(s *survey.Survey) {
			own(s, metav1.Condition{Type: "Conflict", Status: "True", Reason: "PortConflict", Message: "ports"})
		}, WorksInPart, "warning export: ports"},
		"own export that is new": {func(s *survey.Survey) {
			own(s, metav1.Condition{Type: "Ready", Status: "False", Reason: "Pending", Message: "soon"})
		}, WorksInPart, "pending export: soon"},
	} {
		s := clusterset()
		tt.breaks(s)
		x := Explain(s, types.NamespacedName{Namespace: "shop", Name: "web"})
		got := strings.Split(told(x.Findings), "\n")
		want := strings.Split(tt.want, "\n")
		ok := len(got) == len(want) && x.Verdict == tt.verdict
		for i := range want {
			ok = ok && strings.HasPrefix(got[min(i, len(got)-1)], want[i])
		}
		if !ok || (tt.want == "") != (len(x.Findings) == 0) {
			t.Errorf("%s: verdict %s, findings:\n%s\nwant verdict %s:\n%s", name, x.Verdict, told(x.Findings), tt.verdict, tt.want)
		}
		for _, f := range x.Findings {
			if f.Do == "" && f.Severity == Error && f.About != "export" && f.About != "import" {
				t.Errorf("%s: the finding %q has no fix", name, f.Message)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	s := clusterset()
	s.Broker.Exports[0].Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	s.Broker.Exports[0].Spec.Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 8080}}
	s.Cluster.Slices[1].Endpoints = nil
	x := Explain(s, types.NamespacedName{Namespace: "shop", Name: "web"})
	if x.Name != "web.shop.svc.clusterset.local" || x.DerivedService != "web-clusterset" || len(x.Exports) != 2 || x.Exports[0].Cluster != "c1" {
		t.Errorf("%+v", x)
	}
	var values []string
	for _, v := range x.Values {
		if len(v.Others) > 0 {
			values = append(values, fmt.Sprintf("%s %s of %s, not %v", v.Property, v.Using, v.From, v.Others))
		}
	}
	if got, want := strings.Join(values, "; "), "session affinity None of c1, not map[c2:ClientIP]; port http 80/TCP of c1, not map[c2:http 8080/TCP]"; got != want {
		t.Errorf("values: %s\nwant %s", got, want)
	}
	if got, want := fmt.Sprintf("%+v", x.Sources), "[{Cluster:c1 Published:1 Imported:1 ReadyHere:1 Standby:0 LeftOut:0 Unproven:false Reason: incomplete:false} {Cluster:c2 Published:1 Imported:0 ReadyHere:0 Standby:0 LeftOut:0 Unproven:false Reason:no endpoint is imported: see the findings above and the Events of the ServiceImport incomplete:true}]"; got != want {
		t.Errorf("sources: %s\nwant %s", got, want)
	}
	if len(x.Records) != 1 || x.Records[0].Type != "A" || x.Records[0].Values[0] != "10.96.0.9" {
		t.Errorf("records: %+v", x.Records)
	}
	s.Cluster.Imports[0].Spec.Type, s.Cluster.Imports[0].Spec.IPs = mcsv1beta1.Headless, nil
	many := slicesOf("c1")
	for i := range 20 {
		many.Endpoints = append(many.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("fd00::%d", i)}})
	}
	s.Cluster.Slices = append(s.Cluster.Slices, many)
	x = Explain(s, types.NamespacedName{Namespace: "shop", Name: "web"})
	if len(x.Records) != 2 || x.Records[0].Values[0] != "10.1.0.1" || x.Records[1].Total != 20 || len(x.Records[1].Values) != someValues {
		t.Errorf("headless: %+v", x.Records)
	}
	s.Cluster.Withdrawn = map[string]string{"c2": "yesterday"}
	if x = Explain(s, types.NamespacedName{Namespace: "shop", Name: "web"}); !strings.Contains(x.Sources[1].Reason, "yesterday") {
		t.Errorf("withdrawn: %+v", x.Sources)
	}
}

// explain reports endpoints that other clusters drop because the broker's administrators do not
// permit their addresses. It does not give this reason for endpoints that are missing for
// another reason.
func TestExplainAllowedRanges(t *testing.T) {
	set := func(text string) permissions.Member {
		s, err := ranges.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return permissions.Member{Ranges: &s}
	}
	for name, tt := range map[string]struct {
		allowed  permissions.Members
		imported bool // of c2
		finding  string
		why      string
	}{
		"not said":     {nil, false, "", "no endpoint is imported"},
		"of another":   {permissions.Members{"c9": set("")}, true, "", ""},
		"within":       {permissions.Members{"c2": set("10.2.0.0/16")}, true, "", ""},
		"outside":      {permissions.Members{"c2": set("10.9.0.0/16 fd00::/8")}, false, "1 of the 1 endpoints of cluster c2 have addresses that the broker does not permit for that cluster", "1 endpoints are not imported: the broker does not permit"},
		"none allowed": {permissions.Members{"c2": set("")}, false, "Permitted addresses: none", "1 endpoints are not imported: the broker does not permit"},
	} {
		s := clusterset()
		s.Broker.Permissions = tt.allowed
		if !tt.imported {
			s.Cluster.Slices[1].Endpoints = nil
		}
		x := Explain(s, types.NamespacedName{Namespace: "shop", Name: "web"})
		if got := told(x.Findings); !strings.Contains(got, tt.finding) || (tt.finding == "") != !strings.Contains(got, "the broker does not permit") {
			t.Errorf("%s: findings are %s", name, got)
		}
		if got := x.Sources[1].Reason; !strings.HasPrefix(got, tt.why) || (got == "") != (tt.why == "") {
			t.Errorf("%s: why is %q", name, got)
		}
	}
}

func TestStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		breaks            func(*survey.Survey)
		failed, unsettled bool
		want              string
	}{
		"all is well": {func(*survey.Survey) {}, false, false, ""},
		"a silent member": {func(s *survey.Survey) { s.Broker.At = now.Add(38 * time.Second) },
			true, true, "error cluster c2: No heartbeat from cluster c2 for 40s\nerror cluster c3: No heartbeat from cluster c3 for 41s"},
		"a lost member": {func(s *survey.Survey) { s.Cluster.Withdrawn = map[string]string{"c1": "t"} },
			true, true, "error cluster c1: Cluster c1 is unreachable"},
		"a member that joins": {func(s *survey.Survey) { s.Broker.Heartbeats = s.Broker.Heartbeats[1:] },
			false, true, "pending cluster c1: Cluster c1 has not sent a heartbeat yet"},
		"no agent": {func(s *survey.Survey) {
			d := s.Cluster.Deployments[render.AgentName]
			d.Status.ReadyReplicas = 0
			s.Cluster.Deployments[render.AgentName] = d
		}, true, true, "error atoll-agent: No atoll-agent pod is ready"},
		"no agent because of a quota": {func(s *survey.Survey) {
			d := s.Cluster.Deployments[render.AgentName]
			d.Status.ReadyReplicas = 0
			s.Cluster.Deployments[render.AgentName] = d
			s.Cluster.Unready = map[string][]string{render.AgentName: {"Kubernetes cannot create pods: exceeded quota."}}
		}, true, true, "error atoll-agent: No atoll-agent pod is ready (Kubernetes cannot create pods: exceeded quota)."},
		"one DNS server": {func(s *survey.Survey) {
			d := s.Cluster.Deployments[render.DNSName]
			d.Status.ReadyReplicas = 1
			s.Cluster.Deployments[render.DNSName] = d
		}, false, false, "warning atoll-dns: 1 of 2 pods are ready"},
		"one DNS server during a rollout": {func(s *survey.Survey) {
			d := s.Cluster.Deployments[render.DNSName]
			d.Status.ReadyReplicas = 1
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated"}}
			s.Cluster.Deployments[render.DNSName] = d
		}, false, true, "pending atoll-dns: 1 of 2 pods are ready: the Deployment is rolling out"},
		"one DNS server after a rollout": {func(s *survey.Survey) {
			d := s.Cluster.Deployments[render.DNSName]
			d.Status.ReadyReplicas = 1
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}
			s.Cluster.Deployments[render.DNSName] = d
		}, false, false, "warning atoll-dns: 1 of 2 pods are ready"},
		"no DNS": {func(s *survey.Survey) { s.Cluster.DNS.Wired = nil },
			true, true, "error DNS: This cluster's DNS servers do not forward"},
		"an agent that is run otherwise": {func(s *survey.Survey) { delete(s.Cluster.Deployments, render.AgentName) },
			false, false, "warning atoll-agent: Namespace atoll-system has no Deployment"},
		"DNS in part": {func(s *survey.Survey) { s.Cluster.DNS.Found = append(s.Cluster.DNS.Found, dnswiring.NodeLocal) },
			false, false, "warning DNS: Only some of this cluster's DNS servers forward"},
		"DNS at an address that atoll-dns does not have": {func(s *survey.Survey) { s.Cluster.DNS.Elsewhere = []string{"10.96.0.99"} },
			false, false, "warning DNS: The cluster's DNS forwards clusterset.local to 10.96.0.99, but there is no Service of atoll-dns in the cluster."},
		"DNS that does not start": {func(s *survey.Survey) { s.Cluster.DNS.Invalid = []string{"CoreDNS does not start with x"} },
			true, true, "error DNS: CoreDNS does not start with x."},
		"DNS of one service": {func(s *survey.Survey) {
			s.Cluster.DNS.Below = []dnswiring.Below{{Text: "the server block answers queries for names in a.b"}}
		},
			false, false, "warning DNS: The server block answers queries for names in a.b."},
		"DNS that is unknown": {func(s *survey.Survey) {
			s.Cluster.DNS.Wired, s.Cluster.DNS.Unknown = nil, []dnswiring.Form{dnswiring.CoreDNS}
		}, false, false, "warning DNS: Atoll cannot tell whether coredns forwards clusterset.local to atoll-dns"},
		"the cluster's DNS is down": {func(s *survey.Survey) { s.Cluster.DNS.Down = "Deployment kube-system/coredns" },
			true, true, "error DNS: No pod of the cluster's DNS is available (Deployment kube-system/coredns), so pods cannot resolve any name."},
		"not registered": {func(s *survey.Survey) { s.Broker.Members = s.Broker.Members[:2] },
			false, true, "pending cluster c3: The agents have not registered the cluster on the broker yet"},
		"the broker is away": {func(s *survey.Survey) { s.Broker, s.BrokerErr = nil, fmt.Errorf("timeout") },
			true, true, "error broker: The broker cannot be read: timeout"},
		"a record that is left over": {func(s *survey.Survey) { s.Broker.Exports = append(s.Broker.Exports, exported("c3", 9)) },
			false, true, "pending export shop/web: The ServiceExport is deleted"},
		"a derived Service that is left over": {func(s *survey.Survey) { s.Cluster.Imports, s.Cluster.Slices = nil, nil },
			false, true, "pending import shop/web: The ServiceImport is deleted, but its derived Service web-clusterset still exists"},
		"EndpointSlices that are left over": {func(s *survey.Survey) {
			s.Cluster.Imports, s.Cluster.Services = nil, nil
			s.Cluster.Slices[1].Labels[names.LabelSourceCluster] = "c1"
		}, false, true, "pending import shop/web: The ServiceImport is deleted, but its EndpointSlices of cluster c1 still exist: web.c1, web.c2."},
		"EndpointSlices of a cluster that no longer exports": {func(s *survey.Survey) { s.Broker.Exports = s.Broker.Exports[:1] },
			false, true, "pending import shop/web: Cluster c1 no longer exports the service, but its EndpointSlices still exist in this cluster, so connections still go to their endpoints: web.c1. If the deletion is not complete"},
		"EndpointSlices of a cluster whose record is lost": {func(s *survey.Survey) {
			s.Broker.Exports = s.Broker.Exports[:1]
			s.Cluster.Imports[0].Annotations[names.AnnotationApplied] = "c1=7,c2=1"
		}, false, false, ""},
		"own EndpointSlices without a ServiceExport": {func(s *survey.Survey) { s.ClusterID, s.Broker.Exports = "c1", s.Broker.Exports[:1] },
			false, true, "pending import shop/web: Cluster c1 no longer exports the service"},
		"the worst comes first": {func(s *survey.Survey) {
			own(s, metav1.Condition{Type: "Conflict", Status: "True", Reason: "PortConflict", Message: "ports"})
			s.Cluster.Imports[0].Status.Conditions[0] = metav1.Condition{Type: "Ready", Status: "False", Reason: "Failed", Message: "no"}
		}, true, true, "error import shop/web: Failed: no\nwarning export shop/web: ports"},
		"no right": {func(s *survey.Survey) { s.Unread = []error{fmt.Errorf("forbidden")} }, false, false, "warning this report: forbidden"},
	} {
		s := clusterset()
		tt.breaks(s)
		status := NewStatus(s)
		got := told(status.Findings)
		lines, wants := strings.Split(got, "\n"), strings.Split(tt.want, "\n")
		ok := len(lines) == len(wants) && status.Failed() == tt.failed && (len(status.Unfinished()) > 0) == tt.unsettled
		for i := range wants {
			ok = ok && strings.HasPrefix(lines[min(i, len(lines)-1)], wants[i])
		}
		if !ok || tt.want == "" && got != "" {
			t.Errorf("%s: failed %v, unsettled %v:\n%s\nwant %v, %v:\n%s", name, status.Failed(), len(status.Unfinished()) > 0, got, tt.failed, tt.unsettled, tt.want)
		}
	}
}

func TestRows(t *testing.T) {
	s := clusterset()
	own(s, metav1.Condition{Type: "Ready", Status: "True", Reason: "Exported"})
	var members, exports, imports, conflicts []string
	s.Broker.Exports[0].Spec.Ports[0].Port = 81
	for _, c := range Conflicts(s) {
		conflicts = append(conflicts, fmt.Sprintf("%s/%s %s %s %s %v", c.Namespace, c.Name, c.Property, c.Using, c.From, c.Others))
	}
	s.Broker.Exports[0].Spec.Ports[0].Port = 80
	for _, m := range Members(s) {
		members = append(members, fmt.Sprintf("%s %s %d %d %v", m.Cluster, m.State, *m.HeartbeatSeconds, m.Exports, m.Self))
	}
	for _, e := range Exports(s) {
		exports = append(exports, fmt.Sprintf("%s/%s %s %s %v", e.Namespace, e.Name, e.Cluster, e.Status, e.Ports))
	}
	for _, i := range Imports(s) {
		imports = append(imports, fmt.Sprintf("%s/%s %s %v %v %d/%d %s", i.Namespace, i.Name, i.Type, i.IPs, i.Clusters, i.ReadyEndpoints, i.Endpoints, i.Status))
	}
	for _, tt := range []struct{ got, want []string }{
		{conflicts, []string{"shop/web port http 80/TCP c1 map[c2:http 81/TCP]"}},
		{members, []string{"c1 Ready 1 1 false", "c2 Ready 2 1 false", "c3 Ready 3 0 true"}},
		{exports, []string{"shop/web c1 Published [http:80/TCP]", "shop/web c2 Published [http:80/TCP]", "shop/web c3 Ready []"}},
		{imports, []string{"shop/web ClusterSetIP [10.96.0.9] [c1 c2] 2/2 Ready"}},
	} {
		if strings.Join(tt.got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("got  %q\nwant %q", tt.got, tt.want)
		}
	}
}

// If an import still follows a record that the broker has lost, explain does not call the
// service working when the import differs from the existing records.
func TestExplainAnImportWithoutRecord(t *testing.T) {
	service := types.NamespacedName{Namespace: "shop", Name: "web"}
	s := clusterset()
	s.Broker.Exports = s.Broker.Exports[:1]
	s.Cluster.Imports[0].Annotations[names.AnnotationApplied] = "c1=7"
	const missing = `The broker no longer has the export from "c1". This cluster keeps using the last known type`
	explained := func() (text string, verdict Verdict) {
		x := Explain(s, service)
		for _, f := range x.Findings {
			text += f.Message + "\n"
		}
		return text, x.Verdict
	}
	s.Cluster.Imports[0].Spec.Type, s.Cluster.Imports[0].Spec.Ports = mcsv1beta1.ClusterSetIP, s.Broker.Exports[0].Spec.Ports
	if text, verdict := explained(); verdict != WorksInPart || !strings.Contains(text, missing) {
		t.Errorf("equal values: verdict %s: %s", verdict, text)
	}
	s.Cluster.Imports[0].Spec.Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 4444}}
	if text, verdict := explained(); verdict != DoesNotWork || !strings.Contains(text, missing) {
		t.Errorf("different port: verdict %s: %s", verdict, text)
	}
}
