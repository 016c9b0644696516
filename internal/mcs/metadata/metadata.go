// Package metadata applies exported labels and annotations to ServiceImports and derived Services without
// changing others (docs/adr/0016).
package metadata

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Set are labels and annotations.
type Set struct {
	Labels, Annotations map[string]string
}

// record is the annotation names.AnnotationExported, as JSON: the keys of an object's exported labels and annotations.
type record struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// Apply sets the labels and annotations in want, and removes those that it set before and that want lacks. Those of
// others remain, unless want has the key. It replaces the object's maps.
func Apply(object *metav1.ObjectMeta, want Set) {
	had := recorded(object)
	object.Labels = replace(object.Labels, had.Labels, want.Labels)
	object.Annotations = replace(object.Annotations, had.Annotations, want.Annotations)
	now := record{Labels: slices.Sorted(maps.Keys(want.Labels)), Annotations: slices.Sorted(maps.Keys(want.Annotations))}
	if len(now.Labels)+len(now.Annotations) == 0 {
		delete(object.Annotations, names.AnnotationExported)
		return
	}
	text, _ := json.Marshal(now) // strings always marshal
	object.Annotations[names.AnnotationExported] = string(text)
}

// Of returns the labels and annotations that Apply has set on an object.
func Of(object *metav1.ObjectMeta) Set {
	had := recorded(object)
	return Set{Labels: pick(object.Labels, had.Labels), Annotations: pick(object.Annotations, had.Annotations)}
}

// ForService removes Kubernetes' own keys, because kube-proxy, controllers and load balancers of the importing cluster
// act on them.
func (s Set) ForService() Set {
	return Set{Labels: withoutKubernetes(s.Labels), Annotations: withoutKubernetes(s.Annotations)}
}

// recorded reads an object's record. An invalid record counts as empty.
func recorded(object *metav1.ObjectMeta) record {
	var had record
	if json.Unmarshal([]byte(object.Annotations[names.AnnotationExported]), &had) != nil {
		return record{}
	}
	return had
}

// replace returns have, with want in place of the keys in had.
func replace(have map[string]string, had []string, want map[string]string) map[string]string {
	all := maps.Clone(have)
	if all == nil {
		all = map[string]string{}
	}
	for _, key := range had {
		delete(all, key)
	}
	maps.Copy(all, want)
	return all
}

func pick(from map[string]string, keys []string) map[string]string {
	picked := map[string]string{}
	for _, key := range keys {
		if value, ok := from[key]; ok {
			picked[key] = value
		}
	}
	return picked
}

// withoutKubernetes removes keys of Kubernetes' reserved domains, except the recommended labels, on which nothing acts.
func withoutKubernetes(from map[string]string) map[string]string {
	kept := maps.Clone(from)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		domain, _, prefixed := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		return prefixed && domain != ".app.kubernetes.io" &&
			(strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io"))
	})
	return kept
}
