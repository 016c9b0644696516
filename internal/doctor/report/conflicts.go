package report

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
)

// Conflict is a property that differs between exports of a service (KEP-1645, "Constraints and Conflict Resolution").
type Conflict struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	merge.Choice
}

// Conflicts lists the clusterset's conflicts by namespace and name.
func Conflicts(s *survey.Survey) []Conflict {
	if s.Broker == nil {
		return nil
	}
	services := map[types.NamespacedName]bool{}
	for _, e := range s.Broker.Exports {
		services[types.NamespacedName{Namespace: e.Spec.ServiceNamespace, Name: e.Spec.ServiceName}] = true
	}
	var all []Conflict
	for service := range services {
		exports := constituents(s, service)
		if len(exports) < 2 {
			continue
		}
		for _, choice := range merge.Choices(exports) {
			if len(choice.Others) > 0 {
				all = append(all, Conflict{service.Namespace, service.Name, choice})
			}
		}
	}
	slices.SortFunc(all, func(a, b Conflict) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Property, b.Property))
	})
	return all
}
