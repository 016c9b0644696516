package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

const (
	// MaxProperties limits the properties in a MemberCluster.
	MaxProperties = 64
	// MaxPropertyValue limits the value of a property, in bytes.
	MaxPropertyValue = 256
)

// Properties returns the valid properties of a cluster, the first MaxProperties by name, and why the others are left
// out, by name.
func Properties(all map[string]brokerv1alpha1.PropertyValue) (valid map[string]brokerv1alpha1.PropertyValue, leftOut map[string]string) {
	valid, leftOut = map[string]brokerv1alpha1.PropertyValue{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		problem := PropertyProblem(name, string(all[name]))
		if problem == "" && len(valid) == MaxProperties {
			problem = fmt.Sprintf("a cluster publishes at most %d properties", MaxProperties)
		}
		if problem != "" {
			leftOut[name] = problem
			continue
		}
		valid[name] = all[name]
	}
	return valid, leftOut
}

// PropertyProblem returns why a property is invalid, or "".
func PropertyProblem(name, value string) string {
	switch problems := validation.IsQualifiedName(name); {
	case len(problems) > 0:
		return "the name is invalid: " + strings.Join(problems, "; ")
	case value == "":
		return "the value is empty"
	case len(value) > MaxPropertyValue:
		return fmt.Sprintf("the value has more than %d bytes", MaxPropertyValue)
	case !printable.Is(value):
		return "the value has characters that cannot be printed"
	}
	return ""
}
