package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// chart is what the generated files of one are made of.
type chart struct {
	name string
	crds []*unstructured.Unstructured
	// choices are conditions on which there are other objects, and objects those that there are for an answer to each. There are all
	// of them where all are true.
	choices []string
	objects func(chosen []bool) []*unstructured.Unstructured
	// values is where the values of each program are, and arguments the action for those of its arguments that are chosen.
	values, arguments map[string]string
	// namespace is the condition on which the chart makes its namespace.
	namespace string
}

// once makes objects once for each choice.
func once(objects func([]bool) []*unstructured.Unstructured) func([]bool) []*unstructured.Unstructured {
	made := map[string][]*unstructured.Unstructured{}
	return func(chosen []bool) []*unstructured.Unstructured {
		key := fmt.Sprint(chosen)
		if made[key] == nil {
			made[key] = objects(chosen)
		}
		return made[key]
	}
}

// The files that objects are in, by kind, or by kind and name; all others are what runs.
var fileOf = map[string]string{
	"ConfigMap " + names.MemberPermissions: "rbac",
	"Namespace":                            "namespace",
	"TrafficPolicy":                        "trafficpolicy",
	"ServiceAccount":                       "rbac", "Role": "rbac", "RoleBinding": "rbac", "ClusterRole": "rbac", "ClusterRoleBinding": "rbac",
	"FlowSchema": "flowcontrol", "PriorityLevelConfiguration": "flowcontrol",
	"ValidatingAdmissionPolicy": "admission", "ValidatingAdmissionPolicyBinding": "admission",
}

// membershipKind is of what a chart has by hand: it is of one cluster.
const membershipKind = "ClusterProperty"

const header = "# Generated from the code behind the commands by make generate: not to be edited.\n"

// files adds the chart's generated files.
func (c chart) files(to map[string]string) error {
	for _, crd := range c.crds {
		text, err := yaml.Marshal(crd.Object)
		if err != nil {
			return err
		}
		to[c.name+"/crds/"+crd.GetName()+".yaml"] = header + string(text)
	}
	contents := map[string][]string{}
	for _, o := range c.objects(slices.Repeat([]bool{true}, len(c.choices))) {
		if o.GetKind() == membershipKind {
			continue
		}
		text, err := c.document(o)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.name, install.Name(o), err)
		}
		file := cmp.Or(fileOf[o.GetKind()+" "+o.GetName()], fileOf[o.GetKind()], "workloads")
		contents[file] = append(contents[file], text)
	}
	for _, file := range slices.Sorted(maps.Keys(contents)) {
		text := header + strings.Join(contents[file], "")
		if file == "workloads" {
			text = header + "{{- if .Values.workloads }}\n" + strings.Join(contents[file], "") + "{{- end }}\n"
		}
		to[c.name+"/templates/"+file+".yaml"] = text
	}
	return nil
}

// document is the template of one object, whatever is chosen.
func (c chart) document(o *unstructured.Unstructured) (string, error) {
	pieces, err := c.decide(install.Name(o), nil)
	if err != nil {
		return "", err
	}
	text := strings.Join(pieces, "")
	if o.GetKind() == "Namespace" {
		text = "{{- if " + c.namespace + " }}\n" + text + "{{- end }}\n"
	}
	return text, nil
}

// decide is the template of an object, in pieces, where some choices are made: those that are open are left to the template. There is
// none of an object that there is not then.
func (c chart) decide(name string, chosen []bool) ([]string, error) {
	if open := len(chosen); open < len(c.choices) {
		without, err := c.decide(name, append(slices.Clone(chosen), false))
		if err != nil {
			return nil, err
		}
		with, err := c.decide(name, append(slices.Clone(chosen), true))
		return choose(c.choices[open], without, with), err
	}
	objects := c.objects(chosen)
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return install.Name(o) == name })
	if i < 0 {
		return nil, nil
	}
	text, err := c.template(objects[i])
	return pieces(text), err
}

// template is the template of one object.
func (c chart) template(o *unstructured.Unstructured) (string, error) {
	o = o.DeepCopy()
	if o.GetKind() == "Namespace" {
		// It holds what the chart has not made, and which no upgrade or removal of the release may take away.
		o.SetAnnotations(map[string]string{"helm.sh/resource-policy": "keep"})
	}
	if err := plain(o.Object); err != nil {
		return "", err
	}
	chosen := false
	if o.GetKind() == "Deployment" {
		chosen = withoutArguments(o)
	}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return "", err
	}
	document := string(text)
	if o.GetKind() == "Deployment" {
		if document, err = c.deployment(o.GetName(), document, chosen); err != nil {
			return "", err
		}
	}
	if o.GetKind() == "Service" && o.GetName() == render.DNSName {
		document = strings.Replace(document, "\nspec:\n", "\nspec:\n"+clusterIP(c.values[render.DNSName]), 1)
	}
	return "---\n" + fill(document), nil
}

// clusterIP is the action for the address of a Service, which may be fixed because the cluster's DNS forwards to it.
func clusterIP(values string) string {
	return "  {{- with " + values + ".clusterIP }}\n  clusterIP: {{ . | quote }}\n  {{- end }}\n"
}

// plain makes sure that nothing in an object is taken for an action.
func plain(value any) error {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") {
			return fmt.Errorf("%q would be a template action for Helm", v)
		}
	case map[string]any:
		for key, inner := range v {
			if err := plain(inner); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	case []any:
		for _, inner := range v {
			if err := plain(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutArguments takes the arguments off a Deployment's container where they are chosen, and tells whether they are.
func withoutArguments(o *unstructured.Unstructured) bool {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers") // the code has made it
	container := containers[0].(map[string]any)
	args, _ := container["args"].([]any)
	if !slices.ContainsFunc(args, func(a any) bool { return reflect.DeepEqual(a, arguments) }) {
		return false
	}
	delete(container, "args")
	_ = unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")
	return true
}
