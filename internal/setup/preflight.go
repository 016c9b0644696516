package setup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"

	"github.com/atoll-mcs/atoll/internal/install"
)

// needed are the parts of the API without which Atoll does not work, and the version of
// Kubernetes that has them.
var needed = []struct{ groupVersion, resource, since string }{
	{"discovery.k8s.io/v1", "endpointslices", "1.21"},
	{"events.k8s.io/v1", "events", "1.19"},
	{"admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "1.30"},
}

// supported makes sure that an API server is recent enough.
func supported(ctx context.Context, on *install.Target) error {
	client, err := discovery.NewDiscoveryClientForConfig(on.Config)
	if err != nil {
		return fmt.Errorf("making a client for %s: %w", on.Config.Host, err)
	}
	server, err := client.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server %s for its version: %w", on.Config.Host, err)
	}
	for _, part := range needed {
		list, err := client.ServerResourcesForGroupVersion(part.groupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("asking the API server %s what it serves: %w", on.Config.Host, err)
		}
		served := false
		if err == nil {
			for _, r := range list.APIResources {
				served = served || r.Name == part.resource
			}
		}
		if !served {
			return hint("upgrade the cluster to Kubernetes "+part.since+" or later",
				"the API server %s (Kubernetes %s) does not serve %s of %s, which Atoll needs", on.Config.Host, server.GitVersion, part.resource, part.groupVersion)
		}
	}
	return nil
}
