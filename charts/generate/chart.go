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
)

// chart is what the generated files of one are made of.
type chart struct {
	name          string
	crds, objects []*unstructured.Unstructured
	// values is where the values of each program are, and arguments the action for those of its arguments that are chosen.
	values, arguments map[string]string
	// namespace is the condition on which the chart makes its namespace.
	namespace string
	variants  []variant
}

// The files that objects are in, by kind; all others are what runs.
var fileOf = map[string]string{
	"Namespace":      "namespace",
	"ServiceAccount": "rbac", "Role": "rbac", "RoleBinding": "rbac", "ClusterRole": "rbac", "ClusterRoleBinding": "rbac",
	"ValidatingAdmissionPolicy": "admission", "ValidatingAdmissionPolicyBinding": "admission", "ValidatingWebhookConfiguration": "admission",
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
	for _, o := range c.objects {
		if o.GetKind() == membershipKind {
			continue
		}
		text, err := c.document(o)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.name, install.Name(o), err)
		}
		file := cmp.Or(fileOf[o.GetKind()], "workloads")
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

// document is the template of one object, in all its variants.
func (c chart) document(o *unstructured.Unstructured) (string, error) {
	usual, err := c.template(o)
	if err != nil {
		return "", err
	}
	text, open := usual, ""
	for _, v := range c.variants {
		i := slices.IndexFunc(v.objects, func(other *unstructured.Unstructured) bool { return install.Name(other) == install.Name(o) })
		if i < 0 {
			return "", fmt.Errorf("it is not there if %s", v.condition)
		}
		other, err := c.template(v.objects[i])
		switch {
		case err != nil:
			return "", err
		case other == usual:
			continue
		case open != "":
			return "", fmt.Errorf("it is another both if %s and if %s, and nothing says what it is then", open, v.condition)
		}
		open, text = v.condition, "{{- if "+v.condition+" }}\n"+other+"{{- else }}\n"+usual+"{{- end }}\n"
	}
	if o.GetKind() == "Namespace" {
		text = "{{- if " + c.namespace + " }}\n" + text + "{{- end }}\n"
	}
	return text, nil
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
	return "---\n" + fill(document), nil
}

// plain makes sure that nothing in an object is taken for an action.
func plain(value any) error {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") {
			return fmt.Errorf("a template would take %q for an action", v)
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
