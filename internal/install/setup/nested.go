package setup

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// checkNested returns an error if a new member's id is a DNS suffix of another member's id, or the other way round: the
// name of a pod in cluster "east" could then be the name of cluster "eu.east".
func checkNested(ctx context.Context, on *install.Target, clusterset string, id names.ClusterID) error {
	members := &brokerv1alpha1.MemberClusterList{}
	if err := on.List(ctx, members, client.InNamespace(clusterset)); err != nil {
		return fmt.Errorf("listing the members of clusterset %s: %w", clusterset, err)
	}
	other := nestedMember(members.Items, id)
	if other == "" {
		return nil
	}
	return hint(fmt.Sprintf("Choose a cluster id that does not end in .%s and that is not the end of another id: %s", shorter(id.String(), other), command.Broker.Atoll("broker token create ID --clusterset %s", clusterset)),
		"cluster id %q and cluster id %q of a member overlap: one is a DNS suffix of the other. DNS names of pods and of clusters would be ambiguous", id, other)
}

// nestedMember returns the first member whose id overlaps an id, or "". A cluster that is already a member keeps its id.
func nestedMember(members []brokerv1alpha1.MemberCluster, id names.ClusterID) string {
	other := ""
	for _, m := range members {
		switch {
		case m.Removed():
		case m.Name == id.String():
			return ""
		case other == "" && (strings.HasSuffix(m.Name, "."+id.String()) || strings.HasSuffix(id.String(), "."+m.Name)):
			other = m.Name
		}
	}
	return other
}

func shorter(a, b string) string {
	if len(a) < len(b) {
		return a
	}
	return b
}

// NotInJoinFile returns warnings about what a kubeconfig says of the way to the broker but a join file does not: members
// have only the URL and the certificate authority.
func NotInJoinFile(config *rest.Config) []string {
	var all []string
	if config.Proxy != nil {
		all = append(all, "the kubeconfig context has a proxy-url, which the join file does not contain. "+
			"If the members also need the proxy, join them with --env HTTPS_PROXY=URL and --env NO_PROXY=ADDRESS_OF_THEIR_OWN_API_SERVER")
	}
	if config.ServerName != "" {
		all = append(all, fmt.Sprintf("the kubeconfig context has the tls-server-name %s, which the join file does not contain. "+
			"Members can connect only to a URL with a hostname in the broker's certificate: set the URL with --server", config.ServerName))
	}
	return all
}

// proxyWarning returns a warning if this machine reaches the broker through a proxy but the agents do not, or "".
func proxyWarning(server string, proxyOf func(*http.Request) (*url.URL, error), env []corev1.EnvVar) string {
	request, err := http.NewRequest(http.MethodGet, server, nil)
	if err != nil {
		return ""
	}
	proxy, err := proxyOf(request)
	if err != nil || proxy == nil || slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return strings.EqualFold(e.Name, "HTTPS_PROXY") }) {
		return ""
	}
	return fmt.Sprintf("this machine connects to the broker through the proxy %s, but the agents connect without a proxy. "+
		"If the cluster's pods need the proxy too, repeat the command with --env HTTPS_PROXY=%[1]s and --env NO_PROXY=ADDRESS_OF_THE_API_SERVER", proxy.Redacted())
}
