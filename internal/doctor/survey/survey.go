// Package survey reads the state of a member cluster and its clusterset's broker once, for reports. Package report
// evaluates it.
package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Scope selects what to read.
type Scope struct {
	// Namespace is the services' namespace; empty means all.
	Namespace string
	// Service is the name of one service in Namespace; empty means all.
	Service string
	// Endpoints adds EndpointSlices.
	Endpoints bool
	// Installation adds Atoll's installation in the cluster, Settings the settings with which it has joined.
	Installation, Settings bool
	// Traffic adds what the roles of the service's endpoints depend on.
	Traffic bool
	// ClusterOnly skips the broker.
	ClusterOnly bool
	// Rights adds the member's permissions on the broker.
	Rights bool
	// Broker locates the broker for this program. Direct, if not nil, is read in place of what the member's credentials reach.
	Broker credential.Locate
	Direct *rest.Config
	// On names the cluster in commands.
	On command.Cluster
	// own limits the records on the broker to those of this cluster, of all services.
	own bool
}

// Survey is the result. It reads one kind after the other, so objects may be from slightly different times.
type Survey struct {
	// On names the cluster in commands.
	On command.Cluster
	// ClusterID is empty if the cluster is not a member or has no ClusterProperty.
	ClusterID names.ClusterID
	// Clusterset is the name of the clusterset, and Server the broker's URL for members.
	Clusterset, Server string
	// CA has the broker's PEM certificates. Expires is when the broker credentials expire, zero if unreadable, and Lifetime is how
	// long they are valid in all.
	CA       []byte
	Expires  time.Time
	Lifetime time.Duration
	// Cluster is the state of the cluster.
	Cluster Cluster
	// Broker is the state of the broker. It is nil if unreadable; BrokerErr has the reason.
	Broker    *Broker
	BrokerErr error
	// Unread lists other objects that could not be read, usually for lack of permissions. UnreadTraffic are those of them on which
	// the roles of endpoints depend, with Scope.Traffic.
	Unread, UnreadTraffic []error
}

// Cluster is the state of a member cluster.
type Cluster struct {
	Namespaces []corev1.Namespace
	Exports    []mcsv1beta1.ServiceExport
	Imports    []mcsv1beta1.ServiceImport
	// Services are the derived Services. If the scope has a service, its own Service is among them. So are exported
	// Services of which a policy exposes only some ports.
	Services []corev1.Service
	// Slices are the imported EndpointSlices, with Scope.Endpoints. With only Scope.Installation, they have only metadata.
	Slices []discoveryv1.EndpointSlice
	// Foreign are EndpointSlices that route a derived Service's traffic but that Atoll does not manage, with Scope.Endpoints
	// or Scope.Installation. Copies of Atoll's own are without their endpoints.
	Foreign []discoveryv1.EndpointSlice
	// Rejected are the services whose ServiceImports the API server rejects, with Scope.Installation.
	Rejected map[types.NamespacedName]Rejection
	// StatusRefused are the objects (kind, namespace and name) whose status the API server rejects or has rejected, with Scope.Installation.
	StatusRefused map[corev1.ObjectReference]Rejection
	// TrafficPolicies are those of the scope's namespace and of atoll-system, and AcceptWeights is the namespace's annotation, with
	// Scope.Traffic. A scope of all namespaces has no AcceptWeights: Namespaces has the annotations.
	TrafficPolicies []trafficv1alpha1.TrafficPolicy
	AcceptWeights   string
	// Properties are the values of the ClusterProperties, by name.
	Properties map[string]string
	// Withdrawn maps clusters whose endpoints the agents have withdrawn to the time. Silent are those whose endpoints stand by
	// because they do not answer, and Unproven those whose endpoints have never answered.
	Withdrawn, Silent, Unproven map[string]string
	// Deployments are Atoll's, by name, with Scope.Installation.
	Deployments map[string]appsv1.Deployment
	// Settings are the flags of atoll join that were given, by name, with Scope.Settings.
	Settings map[string]string
	// Unready says why Atoll's Deployments lack ready pods, by name, with Scope.Installation.
	Unready map[string][]string
	// DNS is the forwarding to atoll-dns, with Scope.Installation.
	DNS DNS
}

// DNS describes how the cluster's DNS servers forward to atoll-dns.
type DNS struct {
	// Found are the DNS servers that can forward.
	Found []dnswiring.Form
	// Wired are the DNS servers that do forward.
	Wired []dnswiring.Form
	// Unknown are the DNS servers of which Atoll cannot tell whether they forward.
	Unknown []dnswiring.Form
	// NodeLocal means that NodeLocal DNSCache is configured, in whatever form.
	NodeLocal bool
	// Servers are the addresses of atoll-dns in the cluster. Elsewhere are other addresses to which DNS servers forward
	// the zone: of another atoll-dns, or of none.
	Servers, Elsewhere []string
	// Below are the zones below the zone that other DNS servers answer.
	Below []dnswiring.Below
	// Down names the workload of the cluster's DNS if none of its pods is available.
	Down string
	// Invalid says which DNS servers do not start again with their configurations, and why.
	Invalid []string
	// Suspects says with which directives DNS servers may not start again.
	Suspects []string
}

// ElsewhereText says to which other addresses DNS servers forward the zone.
func (d DNS) ElsewhereText() string {
	own := "there is no Service of atoll-dns in the cluster"
	if len(d.Servers) > 0 {
		own = "atoll-dns has the address " + strings.Join(d.Servers, ", ")
	}
	return fmt.Sprintf("the cluster's DNS forwards %s to %s, but %s", Zone, strings.Join(d.Elsewhere, ", "), own)
}

// Broker is the state of a clusterset on its broker.
type Broker struct {
	// At is the broker's time of the survey.
	At time.Time
	// RoundTrip is the time of one small request.
	RoundTrip  time.Duration
	Members    []brokerv1alpha1.MemberCluster
	Heartbeats []coordinationv1.Lease
	Exports    []brokerv1alpha1.ExportedService
	Policies   []brokerv1alpha1.ServicePolicy
	// Slices are the published EndpointSlices, with Scope.Endpoints.
	Slices []discoveryv1.EndpointSlice
	// Permissions are the members' permissions.
	Permissions permissions.Members
	// Rights are the member's permissions on the broker, with Scope.Rights.
	Rights []authorizationv1.ResourceRule
}

// Zone is the zone of clusterset names.
const Zone = "clusterset.local"

// answerTime is the timeout of one API request.
const answerTime = 10 * time.Second

// Read reads a member cluster and, with the credentials stored in it, its broker. It fails only if the cluster itself
// is unreadable; the survey has the other errors.
func Read(ctx context.Context, config *rest.Config, scope Scope) (*Survey, error) {
	config = rest.CopyConfig(config)
	config.Timeout = answerTime
	cluster, err := install.NewTarget(config, nil)
	if err != nil {
		return nil, err
	}
	s := &Survey{On: scope.On}
	if err := s.readCluster(ctx, cluster, scope); err != nil {
		return nil, err
	}
	if scope.Installation {
		s.readInstallation(ctx, cluster, scope)
	}
	if scope.Settings {
		s.readSettings(ctx, cluster)
	}
	if scope.Traffic {
		if err := s.readTraffic(ctx, cluster, scope); err != nil {
			return nil, err
		}
	}
	if !scope.ClusterOnly {
		s.Broker, s.BrokerErr = s.readBroker(ctx, cluster, scope)
	}
	s.readRestricted(ctx, cluster)
	s.readRejected(ctx, cluster, scope)
	s.readStatusRefused(ctx, cluster, scope)
	if scope.Service != "" {
		s.keep(types.NamespacedName{Namespace: scope.Namespace, Name: scope.Service})
	}
	return s, nil
}

// list fills a list. It ignores kinds that are not served, and records forbidden ones in Unread.
func (s *Survey) list(ctx context.Context, c client.Reader, what string, list client.ObjectList, opts ...client.ListOption) error {
	err := c.List(ctx, list, opts...)
	switch {
	case err == nil, meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		s.Unread = append(s.Unread, fmt.Errorf("listing %s: %w", what, err))
		return nil
	}
	return fmt.Errorf("listing %s: %w", what, err)
}

func (s *Survey) readCluster(ctx context.Context, c *install.Target, scope Scope) error {
	var namespaces corev1.NamespaceList
	var exports mcsv1beta1.ServiceExportList
	var imports mcsv1beta1.ServiceImportList
	var services corev1.ServiceList
	in := client.InNamespace(scope.Namespace)
	if err := s.list(ctx, c, "namespaces", &namespaces); err != nil {
		return err
	}
	if scope.Traffic && scope.Namespace == "" { // their annotations say whose weights they accept
		s.UnreadTraffic = slices.Clone(s.Unread)
	}
	if err := errors.Join(
		s.list(ctx, c, "ServiceExports", &exports, in),
		s.list(ctx, c, "ServiceImports", &imports, in),
		s.list(ctx, c, "derived Services", &services, in, client.MatchingLabels{names.LabelManagedBy: names.AgentManager}),
	); err != nil {
		return err
	}
	s.Cluster = Cluster{
		Namespaces: namespaces.Items, Exports: exports.Items, Imports: imports.Items, Services: services.Items,
	}
	if err := s.readSlices(ctx, c, scope); err != nil {
		return err
	}
	if scope.Service != "" {
		own := &corev1.Service{}
		switch err := c.Get(ctx, client.ObjectKey{Namespace: scope.Namespace, Name: scope.Service}, own); {
		case err == nil:
			s.Cluster.Services = append(s.Cluster.Services, *own)
		case !apierrors.IsNotFound(err):
			s.Unread = append(s.Unread, fmt.Errorf("reading Service %s/%s: %w", scope.Namespace, scope.Service, err))
		}
	}
	if scope.Endpoints || scope.Installation {
		if err := s.readForeign(ctx, c, scope); err != nil {
			return err
		}
	}
	return s.readProperties(ctx, c)
}

// readSlices reads the imported EndpointSlices, without their endpoints if the scope does not need those.
func (s *Survey) readSlices(ctx context.Context, c client.Reader, scope Scope) error {
	if !scope.Endpoints && !scope.Installation {
		return nil
	}
	selector := client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}
	if scope.Service != "" {
		selector[names.LabelServiceName] = scope.Service
	}
	var all discoveryv1.EndpointSliceList
	if scope.Endpoints {
		if err := s.list(ctx, c, "EndpointSlices", &all, client.InNamespace(scope.Namespace), selector); err != nil {
			return err
		}
	} else {
		metadata := &metav1.PartialObjectMetadataList{}
		metadata.SetGroupVersionKind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"))
		if err := s.list(ctx, c, "EndpointSlices", metadata, client.InNamespace(scope.Namespace), selector); err != nil {
			return err
		}
		for _, m := range metadata.Items {
			all.Items = append(all.Items, discoveryv1.EndpointSlice{ObjectMeta: m.ObjectMeta})
		}
	}
	// On a cluster that is also a broker, slices published by members have this label.
	s.Cluster.Slices = slices.DeleteFunc(all.Items, func(e discoveryv1.EndpointSlice) bool { return e.Labels[names.LabelServiceNamespace] != "" })
	return nil
}

// readRestricted reads the exported Services of which a policy exposes only some ports: their records lack the others. A
// Service that cannot be read is not known.
func (s *Survey) readRestricted(ctx context.Context, c client.Reader) {
	if s.Broker == nil {
		return
	}
	for _, p := range s.Broker.Policies {
		service := p.Spec.Service()
		named := func(o client.Object) bool { return client.ObjectKeyFromObject(o) == service }
		if len(p.Spec.Ports) == 0 || !slices.ContainsFunc(s.Cluster.Exports, func(e mcsv1beta1.ServiceExport) bool { return named(&e) }) ||
			slices.ContainsFunc(s.Cluster.Services, func(have corev1.Service) bool { return named(&have) }) {
			continue
		}
		own := &corev1.Service{}
		if c.Get(ctx, service, own) == nil {
			s.Cluster.Services = append(s.Cluster.Services, *own)
		}
	}
}

// readProperties reads the cluster's ClusterProperties (KEP-2149), which any user may read.
func (s *Survey) readProperties(ctx context.Context, c *install.Target) error {
	var properties aboutv1beta1.ClusterPropertyList
	if err := s.list(ctx, c, "ClusterProperties", &properties); err != nil {
		return err
	}
	s.Cluster.Properties = map[string]string{}
	for _, p := range properties.Items {
		s.Cluster.Properties[p.Name] = p.Spec.Value
		switch p.Name {
		case aboutv1beta1.ClusterIDProperty:
			s.ClusterID = names.ClusterID(p.Spec.Value)
		case aboutv1beta1.ClustersetProperty:
			s.Clusterset = p.Spec.Value
		}
	}
	return nil
}

// readInstallation reads Atoll's installation, and whether the cluster's DNS forwards to it.
func (s *Survey) readInstallation(ctx context.Context, c *install.Target, scope Scope) {
	note := func(err error) {
		if err != nil {
			s.Unread = append(s.Unread, err)
		}
	}
	var deployments appsv1.DeploymentList
	note(s.list(ctx, c, "Deployments", &deployments, client.InNamespace(names.SystemNamespace)))
	s.Cluster.Deployments = map[string]appsv1.Deployment{}
	for _, d := range deployments.Items {
		s.Cluster.Deployments[d.Name] = d
	}
	s.readUnready(ctx, c)
	lost := &corev1.ConfigMap{}
	err := c.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.LostClusters}, lost)
	if err = client.IgnoreNotFound(err); err != nil && scope.Traffic {
		s.UnreadTraffic = append(s.UnreadTraffic, err)
	}
	note(err)
	s.Cluster.SetLost(lost.Data)
	s.Cluster.DNS, err = readDNS(ctx, c)
	note(err)
}

// readUnready reads why Deployments lack ready pods. Without the permission to list pods, the Deployments' conditions say
// something.
func (s *Survey) readUnready(ctx context.Context, c *install.Target) {
	s.Cluster.Unready = map[string][]string{}
	for name, d := range s.Cluster.Deployments {
		if d.Status.ReadyReplicas >= ptr.Deref(d.Spec.Replicas, 1) || d.Spec.Selector == nil {
			continue
		}
		pods := &corev1.PodList{}
		_ = c.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))
		s.Cluster.Unready[name] = install.Unready(&d, pods.Items)
	}
}

// readDNS finds the DNS servers that can and that do forward the clusterset's zone.
func readDNS(ctx context.Context, c *install.Target) (DNS, error) {
	found, err := clusterdns.Read(ctx, c, client.ObjectKey{})
	if err != nil {
		return DNS{}, err
	}
	servers, err := clusterdns.Servers(ctx, c)
	if err != nil && !errors.Is(err, clusterdns.ErrNoServer) {
		return DNS{}, err
	}
	forms, err := dnswiring.Inspect(found, Zone, servers)
	if err != nil {
		return DNS{}, nil // no known DNS server
	}
	dns := DNS{NodeLocal: found.NodeLocal != nil}
	if dns.Down, err = clusterdns.Unavailable(ctx, c); err != nil {
		return DNS{}, err
	}
	for _, server := range servers {
		dns.Servers = append(dns.Servers, server.String())
	}
	for _, f := range forms {
		dns.Found = append(dns.Found, f.Form)
		if f.Forwards {
			dns.Wired = append(dns.Wired, f.Form)
		}
		if f.Unknown {
			dns.Unknown = append(dns.Unknown, f.Form)
		}
		dns.Elsewhere = append(dns.Elsewhere, f.Elsewhere...)
		dns.Below = append(dns.Below, f.Below...)
		dns.Suspects = append(dns.Suspects, f.Suspects...)
		if f.Invalid != "" {
			dns.Invalid = append(dns.Invalid, f.Invalid)
		}
	}
	slices.Sort(dns.Elsewhere)
	dns.Elsewhere = slices.Compact(dns.Elsewhere)
	return dns, nil
}

// keep drops objects of other services, because the API server cannot filter exports and imports by service.
func (s *Survey) keep(service types.NamespacedName) {
	other := func(o client.Object) bool {
		return o.GetNamespace() != service.Namespace || o.GetName() != service.Name
	}
	s.Cluster.Exports = slices.DeleteFunc(s.Cluster.Exports, func(e mcsv1beta1.ServiceExport) bool { return other(&e) })
	s.Cluster.Imports = slices.DeleteFunc(s.Cluster.Imports, func(i mcsv1beta1.ServiceImport) bool { return other(&i) })
}

// Image returns the image of a pod's first container, or "" without containers.
func Image(pod corev1.PodSpec) string {
	if len(pod.Containers) == 0 {
		return ""
	}
	return pod.Containers[0].Image
}
