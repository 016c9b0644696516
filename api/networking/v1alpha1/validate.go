package v1alpha1

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// clusterName is the form of a cluster's id.
var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`)

// maxClusterName is the limit for label values.
const maxClusterName = 63

// Validate returns what is wrong with a spec, as the definition of the kind says it too. It is for
// where another definition of the kind is installed, which does not.
func (s *MultiClusterServiceSpec) Validate() error {
	var problems []error
	problem := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf("spec.%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if len(s.Types) == 0 {
		problem("types", "at least one is needed: CrossCluster or LoadBalancer")
	}
	for i, t := range s.Types {
		switch {
		case t == "LoadBalance":
			problem("types", "%q: the type is called LoadBalancer", t)
		case t != ExposureTypeCrossCluster && t != ExposureTypeLoadBalancer:
			problem("types", "%q: there are the types CrossCluster and LoadBalancer", t)
		case slices.Contains(s.Types[:i], t):
			problem("types", "%s is there twice", t)
		}
	}
	for _, p := range s.Ports {
		if p.Name == "" && p.Port == 0 {
			problem("ports", "a port is chosen by its name, its number or both")
		}
		if p.Port < 0 || p.Port > 65535 {
			problem("ports", "%d is no port: they are from 1 to 65535", p.Port)
		}
	}
	for _, of := range []struct {
		field string
		names []string
	}{
		{"range.clusterNames", s.Range.ClusterNames}, {"providerClusters", s.Providers()}, {"consumerClusters", clusterNames(s.ConsumerClusters)},
	} {
		for _, name := range of.names {
			if !clusterName.MatchString(name) || len(name) > maxClusterName {
				problem(of.field, "%q: a cluster's name is one or two DNS labels: lower-case letters, digits and inner hyphens", name)
			}
		}
		if len(of.names) > 0 && of.field != "providerClusters" && !s.Has(ExposureTypeCrossCluster) {
			problem(of.field, "it names clusters that import the service: it needs CrossCluster among the types")
		}
	}
	if len(s.Range.ClusterNames) > 0 && len(s.ConsumerClusters) > 0 {
		problem("range", "range and consumerClusters say the same thing: leave one of them out")
	}
	return errors.Join(problems...)
}
