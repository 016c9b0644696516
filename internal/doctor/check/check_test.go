package check

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// TestEveryCheckIsDocumented: a hint leads to a paragraph about the check, under its number.
func TestEveryCheckIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			headings[id] = true
		}
	}
	source, err := os.ReadFile("catalogue.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, match := range regexp.MustCompile(`= Check\{"(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		id := match[1]
		if seen[id] {
			t.Errorf("%s is in the catalogue twice", id)
		}
		seen[id] = true
		if !headings[id] {
			t.Errorf("%s has no heading %q in %s", id, "### "+id, page)
		}
		if want := page + "#" + strings.ToLower(id); ID(id).Anchor() != want {
			t.Errorf("%s leads to %s, want %s", id, ID(id).Anchor(), want)
		}
		delete(headings, id)
	}
	for id := range headings {
		t.Errorf("%s describes %s, which is no check", page, id)
	}
}

// member is a cluster of which all is well, whose number is in its addresses.
func member(number int) Cluster {
	id := fmt.Sprintf("c%d", number)
	deployments := map[string]appsv1.Deployment{}
	for _, name := range []string{render.AgentName, render.DNSName} {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		d.Spec.Replicas, d.Status.ReadyReplicas = ptr.To[int32](2), 2
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "example.org/" + name + ":v1"}}
		deployments[name] = d
	}
	atoll, cluster := fmt.Sprintf("10.10%d.0.53", number), fmt.Sprintf("10.10%d.0.10", number)
	at := time.Now()
	members := []brokerv1alpha1.MemberCluster{
		{ObjectMeta: metav1.ObjectMeta{Name: "c1"}, Spec: brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", ClusterUID: "c1", AgentVersion: "v1", AdvertiseMode: brokerv1alpha1.AdvertisePods, PodCIDRs: []string{"10.1.0.0/16"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: brokerv1alpha1.MemberClusterSpec{ClusterID: "c2", ClusterUID: "c2", AgentVersion: "v1", AdvertiseMode: brokerv1alpha1.AdvertisePods, PodCIDRs: []string{"10.2.0.0/16"}}},
	}
	var leases []coordinationv1.Lease
	for _, m := range members {
		leases = append(leases, coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.Name, CreationTimestamp: metav1.NewTime(at)}})
	}
	c := Cluster{
		Name: id, Context: id, On: command.At("", id), Version: "v1.36.0", UID: id, Nodes: 1, ReadyNodes: 1, Broker: "https://broker",
		Agent: Rights{Checked: true}, DNS: Rights{Checked: true}, OnBroker: Rights{Checked: true},
		Services: []string{"10.96.0.0/12"}, Pods: []string{fmt.Sprintf("10.%d.0.0/16", number)}, Running: running(fmt.Sprintf("10.%d.0.7", number)),
		Proxy: &Proxy{Name: "kube-proxy", DaemonSet: "kube-system/kube-proxy", Ready: 1, Desired: 1, Standby: FallsBack}, ClusterDNS: []string{cluster}, AtollDNS: []string{atoll},
		Listener: &outpost.Listener{Node: "n1", Pod: []string{fmt.Sprintf("10.%d.0.9", number)}, Service: []string{fmt.Sprintf("10.10%d.0.9", number)}, Routed: []string{fmt.Sprintf("10.10%d.0.8", number)}},
		Survey: &survey.Survey{
			On:        command.At("", id),
			ClusterID: names.ClusterID(id), Clusterset: "set", Server: "https://broker", Expires: at.Add(72 * time.Hour), Lifetime: 7 * 24 * time.Hour,
			Cluster: survey.Cluster{
				Properties:  map[string]string{aboutv1beta1.ClusterIDProperty: id, aboutv1beta1.ClustersetProperty: "set"},
				Deployments: deployments, DNS: survey.DNS{Found: []dnswiring.Form{dnswiring.CoreDNS}, Wired: []dnswiring.Form{dnswiring.CoreDNS}}},
			Broker: &survey.Broker{At: at, Members: members, Heartbeats: leases},
		},
	}
	return c
}

// healthy are two members with all that their pods have seen, by the plans that they were given.
func healthy() *Evidence {
	e := &Evidence{Clusters: []Cluster{member(1), member(2)}}
	for i := range e.Clusters {
		c := &e.Clusters[i]
		seen := &probe.Report{Resolvers: c.ClusterDNS}
		plan := Plan(e, c, nil)
		for _, q := range plan.Questions {
			if q.Server == probe.EachServer {
				q.Server = c.ClusterDNS[0]
			}
			a := probe.Answer{Question: q, Values: []string{"1.0.0"}}
			switch q.Type {
			case "SOA":
				a.Values = []string{"clusterset.local."}
			case "AAAA":
				a.Values, a.Absent, a.Error = nil, true, "no such host"
			}
			seen.Answers = append(seen.Answers, a)
		}
		for _, connection := range plan.Connections {
			seen.Connections = append(seen.Connections, probe.Reached{Connection: connection, By: map[string]int{"x": 1}})
		}
		for _, s := range plan.Servers {
			seen.Servers = append(seen.Servers, probe.Replied{Server: s, Status: 401, Milliseconds: 3})
		}
		c.Seen = seen
	}
	return e
}

// fail has connections of a cluster fail to which is applies.
func (c *Cluster) fail(is func(probe.Connection) bool) {
	for i := range c.Seen.Connections {
		if r := &c.Seen.Connections[i]; is(r.Connection) {
			r.By, r.Error = nil, "i/o timeout"
		}
	}
}

// silence takes away the answers of a server to questions of the clusterset's zone.
func (c *Cluster) silence(server string) {
	for i := range c.Seen.Answers {
		if a := &c.Seen.Answers[i]; a.Server == server && a.Name == versionName {
			a.Values, a.Absent, a.Error = nil, true, "no such host"
		}
	}
}

// imports gives a cluster one imported service.
func (c *Cluster) imports(ip string) {
	c.Survey.Cluster.Imports = []mcsv1beta1.ServiceImport{
		managedImport("headless", mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless}, metav1.ConditionTrue),
		managedImport("web", mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP, IPs: []string{ip}}, metav1.ConditionTrue),
	}
}

func managedImport(name string, spec mcsv1beta1.ServiceImportSpec, ready metav1.ConditionStatus) mcsv1beta1.ServiceImport {
	return mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{names.LabelManagedBy: names.AgentManager}}, Spec: spec,
		Status: mcsv1beta1.ServiceImportStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: ready, Reason: "Pending", Message: "why"}}},
	}
}

// The pods resolve only names of imports that are ready: others have no address yet, or another tool's.
func TestPlanResolvesReadyImportsOnly(t *testing.T) {
	for name, change := range map[string]func(*mcsv1beta1.ServiceImport){
		"pending": func(i *mcsv1beta1.ServiceImport) { i.Status.Conditions[0].Status = metav1.ConditionUnknown },
		"foreign": func(i *mcsv1beta1.ServiceImport) { i.Labels = nil },
	} {
		c := member(1)
		c.imports("10.101.3.3")
		change(&c.Survey.Cluster.Imports[1])
		if service, _, _ := c.service(); service != "" {
			t.Errorf("%s: the pods resolve %s", name, service)
		}
	}
}

// TestPlanResolvesAService: a name of the zone itself says nothing about the names of services.
func TestPlanResolvesAService(t *testing.T) {
	e := healthy()
	e.Clusters[0].imports("10.101.3.3")
	want := probe.Question{Name: "web.shop.svc.clusterset.local.", Type: "A"}
	if plan := Plan(e, &e.Clusters[0], nil); !slices.Contains(plan.Questions, want) {
		t.Errorf("%+v is not in %+v", want, plan.Questions)
	}
}

// zoned sets the zone that the pod's server has names of services in.
func (c *Cluster) zoned(failure string, zone ...string) {
	for i := range c.Seen.Answers {
		if a := &c.Seen.Answers[i]; a.Type == "SOA" {
			a.Values, a.Error = zone, failure
		}
	}
}

// TestServicesAreAwaited: a Service that was made a moment ago may not be routed yet, and that is no
// fault; a pod that is ready is reached at once, or not.
func TestServicesAreAwaited(t *testing.T) {
	e := healthy()
	for _, c := range Plan(e, &e.Clusters[0], nil).Connections {
		if service := strings.HasPrefix(c.Address, "10.10"); c.Await != service {
			t.Errorf("%+v: a Service's address %v", c, service)
		}
	}
}

// TestEvaluate breaks one thing after the other in two clusters that are well, and looks which checks
// notice, and that no other does.
func TestEvaluate(t *testing.T) {
	to := func(prefix string) func(probe.Connection) bool {
		return func(c probe.Connection) bool { return strings.HasPrefix(c.Address, prefix) }
	}
	for name, c := range map[string]struct {
		with func(e *Evidence, c1, c2 *Cluster)
		want string // ID=status of all that are not ok, in order
		says string
	}{
		"all is well": {func(*Evidence, *Cluster, *Cluster) {}, "", ""},
		"no API server": {
			func(_ *Evidence, c1, c2 *Cluster) { *c1 = Cluster{Name: "c1", Unreached: errors.New("refused")} },
			"ATOLL1001=error", "refused",
		},
		"too old": {func(_ *Evidence, c1, _ *Cluster) { c1.Lacks = []string{"things"} }, "ATOLL1002=error", "things"},
		"definition deleted": {
			func(_ *Evidence, c1, _ *Cluster) { c1.Definitions = errors.New("not served") }, "ATOLL1003=error", "atoll join FILE --context c1",
		},
		"an import is pending": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.Imports = []mcsv1beta1.ServiceImport{managedImport("web", mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP}, metav1.ConditionUnknown)}
		}, "ATOLL1207=warning", "import shop/web: why"},
		"two imports fail": {func(_ *Evidence, c1, _ *Cluster) {
			for _, name := range []string{"web", "api"} {
				failed := managedImport(name, mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP}, metav1.ConditionFalse)
				failed.Status.Conditions[0].Reason = "Failed"
				c1.Survey.Cluster.Imports = append(c1.Survey.Cluster.Imports, failed)
			}
		}, "ATOLL1207=error", "import shop/api: Failed: why (1 more: atoll status --context c1)"},
		"another tool's import": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.Imports = []mcsv1beta1.ServiceImport{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
		}, "ATOLL1207=warning", "kubectl label serviceimport web -n shop"},
		"an export fails": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.Exports = []mcsv1beta1.ServiceExport{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
				Status:     mcsv1beta1.ServiceExportStatus{Conditions: []metav1.Condition{{Type: "Valid", Status: "False", Reason: "NoService", Message: "why"}}},
			}}
		}, "ATOLL1206=error", "export shop/web: NoService: why"},
		"foreign slices": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.Foreign = []discoveryv1.EndpointSlice{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "by-hand", Labels: map[string]string{discoveryv1.LabelServiceName: "web-clusterset"}}}}
		}, "ATOLL1208=error", "kubectl delete endpointslice by-hand -n shop --context c1"},
		"slices cannot be read": {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Unread = []error{errors.New("forbidden")} },
			"ATOLL1206=skipped ATOLL1207=skipped ATOLL1208=skipped", "forbidden"},
		"another member is silent": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Broker.Heartbeats[1].CreationTimestamp = metav1.NewTime(c1.Survey.Broker.At.Add(-time.Minute))
		}, "ATOLL1210=error", "cluster c2: No heartbeat from cluster c2 for 1m0s."},
		"another member is lost": {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Cluster.Withdrawn = map[string]string{"c2": "t"} },
			"ATOLL1210=error", "Cluster c2 is unreachable. Its endpoints have been withdrawn"},
		"a ClusterProperty is gone": {func(_ *Evidence, c1, _ *Cluster) {
			delete(c1.Survey.Cluster.Properties, aboutv1beta1.ClusterIDProperty)
		},
			"ATOLL1209=warning", "ClusterProperty cluster.clusterset.k8s.io does not exist. Atoll works, but other programs cannot read the cluster's id Create the ClusterProperties again"},
		"a ClusterProperty was edited": {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Cluster.Properties[aboutv1beta1.ClustersetProperty] = "x" },
			"ATOLL1209=warning", `kubectl patch clusterproperty clusterset.k8s.io --type merge -p '{"spec":{"value":"set"}}' --context c1`},
		"no nodes":          {func(_ *Evidence, c1, _ *Cluster) { c1.ReadyNodes = 0 }, "ATOLL1004=error", "none of the 1 nodes"},
		"agent has no role": {func(_ *Evidence, c1, _ *Cluster) { c1.Agent.Missing = []string{"list services"} }, "ATOLL1102=error", "missing permissions: list services"},
		"dns has no role":   {func(_ *Evidence, c1, _ *Cluster) { c1.DNS.Missing = []string{"list x"} }, "ATOLL1103=error", "missing permissions: list x"},
		"rights not known":  {func(_ *Evidence, c1, _ *Cluster) { c1.DNS = Rights{Err: errors.New("forbidden")} }, "ATOLL1103=skipped", "forbidden"},
		"not on the broker": {func(_ *Evidence, c1, _ *Cluster) { c1.OnBroker.Missing = []string{"create leases"} }, "ATOLL1104=error", "atoll broker token create c1"},
		"no pod of the agent is ready": {func(_ *Evidence, c1, _ *Cluster) {
			d := c1.Survey.Cluster.Deployments[render.AgentName]
			d.Status.ReadyReplicas = 0
			c1.Survey.Cluster.Deployments[render.AgentName] = d
		}, "ATOLL1202=error", "No atoll-agent pod is ready"},
		"one pod of two": {func(_ *Evidence, c1, _ *Cluster) {
			d := c1.Survey.Cluster.Deployments[render.DNSName]
			d.Status.ReadyReplicas = 1
			c1.Survey.Cluster.Deployments[render.DNSName] = d
		}, "ATOLL1203=warning", "1 of 2"},
		"expired":  {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Expires = time.Now().Add(-time.Hour) }, "ATOLL1204=error", "expired 1h"},
		"about to": {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Expires = time.Now().Add(time.Hour) }, "ATOLL1204=warning", "have not renewed them"},
		"short": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Expires, c1.Survey.Lifetime = time.Now().Add(10*time.Hour), 12*time.Hour
		}, "", ""},
		"silent":      {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Broker.At = time.Now().Add(time.Hour) }, "ATOLL1205=error ATOLL1210=error", "s old"},
		"not entered": {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Broker.Heartbeats = nil }, "ATOLL1205=error ATOLL1210=warning", "has no heartbeat of the cluster"},
		"broker out of reach of pods": {
			func(_ *Evidence, c1, _ *Cluster) { c1.Seen.Servers[0] = probe.Replied{Error: "dial tcp: timeout"} }, "ATOLL1301=error", "dial tcp: timeout",
		},
		"broker far away": {func(_ *Evidence, c1, _ *Cluster) { c1.Seen.Servers[0].Milliseconds = 800 }, "ATOLL1302=warning", "800ms"},
		"broker's clock":  {func(_ *Evidence, c1, _ *Cluster) { c1.Seen.Servers[0].Ahead = -10 }, "ATOLL1303=warning", "10s behind"},
		"broker's clock far off": {
			func(_ *Evidence, c1, _ *Cluster) { c1.Seen.Servers[0].Ahead = 120 }, "ATOLL1303=error", "2m0s ahead of",
		},
		"broker out of reach from here": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Broker, c1.Survey.BrokerErr, c1.OnBroker = nil, errors.New("no route"), Rights{}
		}, "ATOLL1104=skipped ATOLL1205=skipped ATOLL1210=skipped ATOLL1304=warning", "no route"},
		"no pods": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Listener, c1.Seen, c1.Outpost = nil, nil, errors.New("forbidden")
		}, "ATOLL1301=skipped ATOLL1401=warning ATOLL1402=skipped ATOLL1501=skipped ATOLL1505=skipped ATOLL2101=skipped ATOLL2101=skipped", "forbidden"},
		"pods apart":             {func(_ *Evidence, c1, _ *Cluster) { c1.fail(to("10.1.0.9")) }, "ATOLL1401=error", "i/o timeout"},
		"no kube-proxy":          {func(_ *Evidence, c1, _ *Cluster) { c1.fail(to("10.101.0.8")) }, "ATOLL1402=error", "does not reach its endpoint"},
		"kube-proxy on one node": {func(_ *Evidence, c1, _ *Cluster) { c1.Proxy.Desired = 2 }, "ATOLL1403=warning", "on 1 of 2"},
		"a proxy that cannot fail over": {
			func(_ *Evidence, c1, _ *Cluster) { c1.Proxy.Name, c1.Proxy.Standby = "kube-router", Misused }, "ATOLL1403=warning", "kube-router: endpoints on standby are used like ready endpoints",
		},
		"an unknown proxy": {func(_ *Evidence, c1, _ *Cluster) { c1.Proxy = nil }, "ATOLL1403=skipped", "another component may be routing"},
		"pods in Services": {func(_ *Evidence, c1, _ *Cluster) { c1.Services = []string{"10.1.0.0/20"} }, "ATOLL1404=error", "10.1.0.0/16 and 10.1.0.0/20"},
		"no DNS at all": {func(_ *Evidence, c1, _ *Cluster) {
			for i := range c1.Seen.Answers {
				c1.Seen.Answers[i].Values, c1.Seen.Answers[i].Error = nil, "timeout"
			}
		}, "ATOLL1501=error ATOLL1504=error ATOLL1505=error", "kubernetes.default.svc cannot be resolved"},
		"not wired": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.DNS.Wired = nil
			c1.silence("")
			c1.silence("10.101.0.10")
		}, "ATOLL1502=error ATOLL1505=error", "the cluster's DNS at 10.101.0.10 does not forward the query: the name does not exist"},
		"wired in a way that Atoll does not know": {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Cluster.DNS.Wired = nil }, "", "with a configuration that Atoll does not recognize"},
		"wired only for a part of the servers": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.DNS.Wired = nil
			c1.silence("10.101.0.10")
		}, "ATOLL1502=error", "do not forward clusterset.local to atoll-dns: coredns"},
		"wired to another server": {func(_ *Evidence, c1, _ *Cluster) { c1.Survey.Cluster.DNS.Elsewhere = []string{"192.0.2.1"} }, "", ""},
		"wired to an address that atoll-dns no longer has": {func(_ *Evidence, c1, _ *Cluster) {
			dns := &c1.Survey.Cluster.DNS
			dns.Elsewhere, dns.Servers = []string{"10.101.0.99"}, []string{"10.101.0.53"}
			c1.silence("")
			c1.silence("10.101.0.10")
		}, "ATOLL1502=error ATOLL1505=error", "forwards clusterset.local to 10.101.0.99, but atoll-dns has the address 10.101.0.53"},
		"another server answers for a service": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.DNS.Below = []dnswiring.Below{{Text: "the server block x answers"}}
		}, "ATOLL1502=warning", "the server block x answers"},
		"a plugin with which CoreDNS may not start": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.DNS.Suspects = []string{"the directive x is no plugin"}
		}, "ATOLL1502=warning", "the directive x is no plugin"},
		"the cluster's DNS is down": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.DNS.Down = "Deployment kube-system/coredns"
		}, "ATOLL1502=error", "no pod of the cluster's DNS is available: Deployment kube-system/coredns"},
		"a plugin that Atoll does not know": {func(_ *Evidence, c1, _ *Cluster) {
			dns := &c1.Survey.Cluster.DNS
			dns.Wired, dns.Unknown = nil, []dnswiring.Form{dnswiring.CoreDNS}
		}, "", "with a configuration that Atoll does not recognize"},
		"a plugin that Atoll does not know, and no pods": {func(_ *Evidence, c1, _ *Cluster) {
			dns := &c1.Survey.Cluster.DNS
			dns.Wired, dns.Unknown = nil, []dnswiring.Form{dnswiring.CoreDNS}
			c1.Listener, c1.Seen, c1.Outpost = nil, nil, errors.New("forbidden")
		}, "ATOLL1301=skipped ATOLL1401=warning ATOLL1402=skipped ATOLL1501=skipped ATOLL1502=warning ATOLL1505=skipped ATOLL2101=skipped ATOLL2101=skipped", "the check cannot tell whether coredns forwards clusterset.local to atoll-dns"},
		"a configuration that does not start": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.DNS.Wired, c1.Survey.Cluster.DNS.Invalid = nil, []string{"CoreDNS does not start with x"}
		}, "ATOLL1502=warning", "CoreDNS does not start with x"},
		"another server answers for the services": {func(_ *Evidence, c1, _ *Cluster) {
			c1.imports("10.101.3.3")
			c1.Survey.Cluster.DNS.Wired = nil
			c1.Seen.Answers = append(c1.Seen.Answers, probe.Answer{Question: probe.Question{Name: "web.shop.svc.clusterset.local.", Type: "A"}, Absent: true})
		}, "ATOLL1502=error ATOLL1505=error", "web.shop.svc.clusterset.local. does not resolve to its clusterset IP 10.101.3.3: the name does not exist"},
		"another server answers for all names of services": {func(_ *Evidence, c1, _ *Cluster) {
			c1.zoned("", "svc.clusterset.local.")
		}, "ATOLL1505=error", "dns-version.clusterset.local. is resolved, but names of services are not: the DNS server 10.101.0.10 answers for them from the zone svc.clusterset.local."},
		"another server fails for names of services": {func(_ *Evidence, c1, _ *Cluster) {
			c1.zoned("RCodeServerFailure")
		}, "ATOLL1505=error", "names of services are not: RCodeServerFailure"},
		"names of services are in the zone": {func(_ *Evidence, c1, _ *Cluster) {
			c1.zoned("", "ClusterSet.local.")
		}, "", ""},
		"a cache leaves out the zone": {func(_ *Evidence, c1, _ *Cluster) { c1.zoned("") }, "", ""},
		"a service is resolved": {func(_ *Evidence, c1, _ *Cluster) {
			c1.imports("fd00::3")
			c1.Seen.Answers = append(c1.Seen.Answers, probe.Answer{Question: probe.Question{Name: "web.shop.svc.clusterset.local.", Type: "AAAA"}, Values: []string{"fd00::3"}})
		}, "", "web.shop.svc.clusterset.local. are resolved"},
		"NodeLocal not wired": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Cluster.DNS.NodeLocal, c1.Seen.Resolvers = true, []string{"169.254.20.10"}
			c1.Survey.Cluster.DNS.Found = append(c1.Survey.Cluster.DNS.Found, dnswiring.NodeLocal)
			c1.silence("")
			c1.Seen.Answers = append(c1.Seen.Answers, probe.Answer{Question: probe.Question{Name: versionName, Type: "TXT", Server: "169.254.20.10"}, Absent: true})
		}, "ATOLL1503=error ATOLL1505=error", "answers the query, but the DNS server 169.254.20.10, which pods use, does not"},
		"atoll-dns is down": {func(_ *Evidence, c1, _ *Cluster) {
			for _, server := range []string{"", "10.101.0.10", "10.101.0.53"} {
				c1.silence(server)
			}
		}, "ATOLL1504=error ATOLL1505=error", "no answer from atoll-dns at 10.101.0.53"},
		"atoll-dns has no Service": {func(_ *Evidence, c1, _ *Cluster) { c1.AtollDNS = nil }, "ATOLL1504=error", "atoll-dns has no Service"},
		"stock CoreDNS":            {func(_ *Evidence, c1, _ *Cluster) { c1.Stock = &Stock{Rights: Rights{Checked: true}} }, "", ""},
		"stock CoreDNS without rights": {
			func(_ *Evidence, c1, _ *Cluster) {
				c1.Stock = &Stock{Rights: Rights{Checked: true, Missing: []string{"list serviceimports"}}}
			}, "ATOLL1506=error", "list serviceimports",
		},
		"one cluster twice": {func(_ *Evidence, c1, c2 *Cluster) { c2.UID = c1.UID }, "ATOLL2001=error", "belong to the same cluster"},
		"two clustersets": {func(_ *Evidence, c1, c2 *Cluster) {
			c2.Survey.Clusterset, c2.Survey.Cluster.Properties[aboutv1beta1.ClustersetProperty] = "other", "other"
		}, "ATOLL2002=error", "cluster c2 is in clusterset other"},
		"clocks": {func(_ *Evidence, c1, c2 *Cluster) { c2.Ahead = 10 * time.Second }, "ATOLL2003=warning", "the clock of cluster c2 is 10s ahead of the clock of cluster c1"},
		"the same pods": {
			func(_ *Evidence, c1, c2 *Cluster) {
				c2.Running, c2.Pods = running("10.1.200.7"), []string{"10.1.128.0/17"}
			}, "ATOLL2004=error", "the pod CIDR 10.1.128.0/17 of cluster c2 overlaps the pod CIDR of cluster c1",
		},
		"the same Services, advertised": {func(_ *Evidence, c1, c2 *Cluster) {
			for _, c := range []*Cluster{c1, c2} {
				c.Survey.Broker.Members[1].Spec.AdvertiseMode = brokerv1alpha1.AdvertiseClusterIP
			}
		}, "ATOLL2004=error", "the Service CIDR 10.96.0.0/12 of cluster c2 overlaps the Service CIDR of cluster c1"},
		"a third member with c1's pods": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey.Broker.Members = append(c1.Survey.Broker.Members, brokerv1alpha1.MemberCluster{
				ObjectMeta: metav1.ObjectMeta{Name: "c3"}, Spec: brokerv1alpha1.MemberClusterSpec{PodCIDRs: []string{"10.1.2.0/24"}},
			})
		}, "ATOLL1210=warning ATOLL2004=error", "the pod CIDR 10.1.2.0/24 of cluster c3 overlaps the pod CIDR of cluster c1"},
		"no family": {func(_ *Evidence, c1, c2 *Cluster) {
			c2.Listener.Pod, c2.Listener.Service = []string{"fd00::2"}, []string{"fd00::3"}
		}, "ATOLL1401=error ATOLL2005=error ATOLL2101=skipped ATOLL2101=skipped", "one cluster has only IPv4"},
		"versions": {func(_ *Evidence, c1, c2 *Cluster) {
			c1.Survey.Broker.Members[1].Spec.AgentVersion = "v2"
			c2.Survey.Broker.Members[1].Spec.AgentVersion = "v2"
		}, "ATOLL2006=warning", "Atoll v1 runs in c1; Atoll v2 runs in c2"},
		"no way from c1 to c2": {func(_ *Evidence, c1, _ *Cluster) {
			c1.fail(to("10.2."))
			c1.fail(to("10.102."))
		}, "ATOLL2101=error", "pods of cluster c2 cannot be reached: i/o timeout"},
		"pods are not reached, Services are": {
			func(_ *Evidence, c1, _ *Cluster) { c1.fail(to("10.2.")) }, "ATOLL2101=error", "--advertise-mode cluster-ip",
		},
		"the same, and that is meant": {func(_ *Evidence, c1, c2 *Cluster) {
			c1.fail(to("10.2."))
			c2.Services = []string{"10.102.0.0/16"}
			c1.Services = []string{"10.101.0.0/16"}
			for _, c := range []*Cluster{c1, c2} {
				c.Survey.Broker.Members[1].Spec.AdvertiseMode = brokerv1alpha1.AdvertiseClusterIP
			}
		}, "", ""},
		"no UDP": {func(_ *Evidence, c1, _ *Cluster) {
			c1.fail(func(c probe.Connection) bool { return c.Network == "udp" })
		}, "ATOLL2102=warning", "Let UDP through"},
		"small MTU": {func(_ *Evidence, c1, _ *Cluster) {
			c1.fail(func(c probe.Connection) bool { return c.Bytes > 0 })
		}, "ATOLL2103=error", "MTU"},
		"not joined": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Survey = &survey.Survey{BrokerErr: survey.ErrNotJoined}
		}, "ATOLL1201=error", "atoll join FILE --context c1"},
		"a broker that limits members, and does so no more": {func(_ *Evidence, c1, _ *Cluster) {
			c1.Clustersets = []BrokerSide{{Name: "good"}, {Name: "bad", Problems: []string{"it is missing", "it differs"}}, {Name: "unread", Err: errors.New("forbidden")}}
		}, "ATOLL1305=error ATOLL1305=skipped", "atoll broker deploy --clusterset bad --context c1"},
		"a broker that is not a member": {func(_ *Evidence, c1, _ *Cluster) {
			*c1 = Cluster{Name: "c1", On: c1.On, Clustersets: []BrokerSide{{Name: "good"}}, Survey: &survey.Survey{BrokerErr: survey.ErrNotJoined}}
		}, "ATOLL1201=skipped", "clusterset good"},
		"not joined yet": {func(e *Evidence, c1, c2 *Cluster) {
			e.Before, c1.Broker = true, ""
			c1.Survey, c2.Survey = &survey.Survey{BrokerErr: survey.ErrNotJoined}, &survey.Survey{BrokerErr: survey.ErrNotJoined}
			c1.fail(to("10.2."))
		}, "ATOLL1301=skipped ATOLL2101=warning", "Join cluster c2 with --advertise-mode cluster-ip"},
		"may not install": {func(e *Evidence, c1, c2 *Cluster) {
			e.Before = true
			c1.Survey, c2.Survey = &survey.Survey{BrokerErr: survey.ErrNotJoined}, &survey.Survey{BrokerErr: survey.ErrNotJoined}
			c1.MayInstall = errors.New("may not create clusterroles")
		}, "ATOLL1101=error", "may not create clusterroles"},
	} {
		t.Run(name, func(t *testing.T) {
			e := healthy()
			c.with(e, &e.Clusters[0], &e.Clusters[1])
			var got, said []string
			for _, r := range Evaluate(*e) {
				said = append(said, r.Message+" "+r.Hint)
				if r.Status == OK {
					continue
				}
				got = append(got, fmt.Sprintf("%s=%s", r.ID, r.Status))
				if r.Subject == "" || r.Title == "" {
					t.Errorf("%s has no heading: %+v", r.ID, r)
				}
				if r.Status != Skipped && (r.Hint == "" || r.Documentation != r.ID.Anchor()) {
					t.Errorf("%s says not what to do: %+v", r.ID, r)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), c.want)
			}
			if !strings.Contains(strings.Join(said, "\n"), c.says) {
				t.Errorf("nothing says %q:\n%s", c.says, strings.Join(said, "\n"))
			}
		})
	}
}
