package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// statusRefusedTime is how long an Event about a status counts. Agents retry every 30 s, but an API server may see the repetitions
// of an Event only every six minutes.
const statusRefusedTime = 15 * time.Minute

// statusRefused adds the objects whose status the API server rejects.
func (f *Findings) statusRefused(s *survey.Survey) {
	for _, of := range slices.SortedFunc(maps.Keys(s.Cluster.StatusRefused), func(a, b corev1.ObjectReference) int { return strings.Compare(a.String(), b.String()) }) {
		r := s.Cluster.StatusRefused[of]
		if surveyTime(s).Sub(r.At) > statusRefusedTime {
			continue
		}
		f.add(Warning, fmt.Sprintf("%s %s/%s", strings.ToLower(of.Kind), of.Namespace, of.Name), fmt.Sprintf("The conditions of this object may be outdated. An Event of %s says: %s", r.At.UTC().Format(time.RFC3339), r.Message),
			"Change the quota or the admission policy that the message names.")
	}
}

// allRejected adds the exported services whose ServiceImports the API server rejects.
func (f *Findings) allRejected(s *survey.Survey) {
	for _, service := range slices.SortedFunc(maps.Keys(s.Cluster.Rejected), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.ContainsFunc(s.Cluster.Imports, func(i mcsv1beta1.ServiceImport) bool { return isNamed(&i, service) }) && len(constituents(s, service)) > 0 {
			f.rejected(s, service, AboutImport+service.String())
		}
	}
}
