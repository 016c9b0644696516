package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// closedPolicy denies exports from system namespaces that a binding cannot select by their names (deploy/agent).
const closedPolicy = "serviceexports-of-more-namespaces.atoll.dev"

// closeToExports makes closedPolicy apply to more namespaces: names, in which * stands for any text.
func closeToExports(objects []*unstructured.Unstructured, patterns []string) {
	if len(patterns) == 0 {
		return
	}
	var expressions []string
	for _, p := range patterns { // they have no other characters that mean something in a regular expression
		expressions = append(expressions, strings.ReplaceAll(p, "*", ".*"))
	}
	for _, o := range objects {
		if o.GetName() != closedPolicy || o.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchConditions")
		condition := conditions[0].(map[string]any)
		condition["expression"] = fmt.Sprintf("%s || request.namespace.matches('^(%s)$')", condition["expression"], strings.Join(expressions, "|"))
		_ = unstructured.SetNestedSlice(o.Object, conditions, "spec", "matchConditions") // it was one
	}
}
