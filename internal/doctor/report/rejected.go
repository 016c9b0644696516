package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

// rejected adds why the API server rejects the ServiceImport of a service, and reports whether it does.
func (f *Findings) rejected(s *survey.Survey, service types.NamespacedName, about string) bool {
	r, found := s.Cluster.Rejected[service]
	if found {
		f.add(Error, about, fmt.Sprintf("This cluster has no ServiceImport of the service. An Event of %s says: %s", r.At.UTC().Format(time.RFC3339), r.Message),
			"Change the quota or the admission policy that the message names. To see all such Events: "+s.On.Kubectl("get events -n %s --field-selector reason=ImportRefused", service.Namespace))
	}
	return found
}

// allRejected adds the exported services whose ServiceImports the API server rejects.
func (f *Findings) allRejected(s *survey.Survey) {
	for _, service := range slices.SortedFunc(maps.Keys(s.Cluster.Rejected), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.ContainsFunc(s.Cluster.Imports, func(i mcsv1beta1.ServiceImport) bool { return isNamed(&i, service) }) && len(constituents(s, service)) > 0 {
			f.rejected(s, service, AboutImport+service.String())
		}
	}
}
