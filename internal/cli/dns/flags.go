package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// forms parses the flag --provider; auto means none.
func forms(providers []string) ([]dnswiring.Form, error) {
	if slices.Equal(providers, []string{"auto"}) {
		return nil, nil
	}
	var named []dnswiring.Form
	for _, p := range providers {
		if !slices.Contains(dnswiring.Forms(), dnswiring.Form(p)) {
			return nil, fmt.Errorf("--provider is %q, but must be auto, %s", p, providersHelp)
		}
		if !slices.Contains(named, dnswiring.Form(p)) {
			named = append(named, dnswiring.Form(p))
		}
	}
	if len(named) == 0 {
		return nil, fmt.Errorf("--provider is empty, but must be auto, %s", providersHelp)
	}
	return named, nil
}

func parseName(text string) (client.ObjectKey, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return client.ObjectKey{}, fmt.Errorf("%q does not have the form NAMESPACE/NAME", text)
	}
	return client.ObjectKey{Namespace: namespace, Name: name}, nil
}

func parseServers(texts []string) ([]netip.Addr, error) {
	var servers []netip.Addr
	for _, text := range texts {
		server, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("--server is %q, which is not an IP address", text)
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// parseZones normalizes zones for comparison.
func parseZones(texts []string) []string {
	var zones []string
	for _, text := range texts {
		zones = append(zones, strings.ToLower(strings.TrimSuffix(text, ".")))
	}
	return zones
}
