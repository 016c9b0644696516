package install

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
)

// Part is an API resource that Atoll needs.
type Part struct {
	GroupVersion, Resource string
	// Since is the first version of Kubernetes with the resource.
	Since string
}

// String formats the resource for messages.
func (p Part) String() string { return p.Resource + " of " + p.GroupVersion }

// needed are the resources of Kubernetes, Kinds those that Atoll adds to members.
var (
	needed = []Part{
		{"discovery.k8s.io/v1", "endpointslices", "1.21"},
		{"events.k8s.io/v1", "events", "1.19"},
		{"admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "1.30"},
	}
	// Kinds are served once Atoll's CustomResourceDefinitions are installed.
	Kinds = []Part{
		{GroupVersion: "multicluster.x-k8s.io/v1beta1", Resource: "serviceexports"},
		{GroupVersion: "multicluster.x-k8s.io/v1beta1", Resource: "serviceimports"},
		{GroupVersion: "multicluster.x-k8s.io/v1alpha1", Resource: "serviceimports"}, // for stock CoreDNS
		{GroupVersion: "about.k8s.io/v1beta1", Resource: "clusterproperties"},
		{GroupVersion: "traffic.atoll.dev/v1alpha1", Resource: "trafficpolicies"},
	}
)

// Version returns the API server's version, and the needed resources that it lacks.
func (t *Target) Version() (version string, lacks []Part, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(t.Config)
	if err != nil {
		return "", nil, fmt.Errorf("creating a client for %s: %w", t.Config.Host, err)
	}
	server, err := client.ServerVersion()
	if err != nil {
		return "", nil, fmt.Errorf("reading the version of the API server %s: %w", t.Config.Host, err)
	}
	lacks, err = t.Lacks(needed)
	return server.GitVersion, lacks, err
}

// Lacks returns the parts that the API server does not serve.
func (t *Target) Lacks(parts []Part) ([]Part, error) {
	client, err := discovery.NewDiscoveryClientForConfig(t.Config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", t.Config.Host, err)
	}
	var lacks []Part
	for _, part := range parts {
		list, err := client.ServerResourcesForGroupVersion(part.GroupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("listing the APIs that the API server %s serves: %w", t.Config.Host, err)
		}
		served := false
		if err == nil {
			for _, r := range list.APIResources {
				served = served || r.Name == part.Resource
			}
		}
		if !served {
			lacks = append(lacks, part)
		}
	}
	return lacks, nil
}
