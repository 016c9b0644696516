package install

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
)

// Part is one of the API's, without which Atoll does not work.
type Part struct {
	GroupVersion, Resource string
	// Since is the version of Kubernetes that has it.
	Since string
}

// String is the part for people.
func (p Part) String() string { return p.Resource + " of " + p.GroupVersion }

// needed are the parts that Kubernetes has to have, Kinds those that Atoll brings for members.
var (
	needed = []Part{
		{"discovery.k8s.io/v1", "endpointslices", "1.21"},
		{"events.k8s.io/v1", "events", "1.19"},
		{"admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "1.30"},
	}
	// Kinds are served once Atoll's definitions are there.
	Kinds = []Part{
		{GroupVersion: "multicluster.x-k8s.io/v1beta1", Resource: "serviceexports"},
		{GroupVersion: "multicluster.x-k8s.io/v1beta1", Resource: "serviceimports"},
		{GroupVersion: "multicluster.x-k8s.io/v1alpha1", Resource: "serviceimports"}, // which stock CoreDNS reads
		{GroupVersion: "about.k8s.io/v1beta1", Resource: "clusterproperties"},
	}
)

// Version asks an API server for its version, and which of what Atoll needs of Kubernetes it does
// not serve.
func (t *Target) Version() (version string, lacks []Part, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(t.Config)
	if err != nil {
		return "", nil, fmt.Errorf("making a client for %s: %w", t.Config.Host, err)
	}
	server, err := client.ServerVersion()
	if err != nil {
		return "", nil, fmt.Errorf("asking the API server %s for its version: %w", t.Config.Host, err)
	}
	lacks, err = t.Lacks(needed)
	return server.GitVersion, lacks, err
}

// Lacks returns those of some parts that an API server does not serve.
func (t *Target) Lacks(parts []Part) ([]Part, error) {
	client, err := discovery.NewDiscoveryClientForConfig(t.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", t.Config.Host, err)
	}
	var lacks []Part
	for _, part := range parts {
		list, err := client.ServerResourcesForGroupVersion(part.GroupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("asking the API server %s what it serves: %w", t.Config.Host, err)
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
