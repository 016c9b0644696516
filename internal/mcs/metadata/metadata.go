// Package metadata applies exported labels and annotations to ServiceImports and derived Services without changing
// other keys (docs/adr/0016).
package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

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

// Keys select labels and annotations: each is a key, all keys of a domain as "example.org/*", or "*" for all.
type Keys []string

// ParseKeys reads keys that are separated by commas. The error names the first invalid one.
func ParseKeys(text string) (all Keys, _ error) {
	for key := range strings.SplitSeq(text, ",") {
		key = strings.TrimSpace(key)
		if problems := validation.IsQualifiedName(strings.Replace(key, "*", "x", 1)); key != "" && len(problems) > 0 {
			return nil, fmt.Errorf("%q is neither a key, nor DOMAIN/*, nor *: %s", key, problems[0])
		}
		if key != "" {
			all = append(all, key)
		}
	}
	return all, nil
}

func (k Keys) has(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	return slices.ContainsFunc(k, func(allowed string) bool {
		return allowed == "*" || allowed == key || prefixed && allowed == domain+"/*"
	})
}

// ForService keeps the allowed keys, except Kubernetes' own: controllers, proxies, load balancers and monitoring of the
// importing cluster act on a Service's labels and annotations, so the exporting cluster must not choose them.
func (s Set) ForService(allowed Keys) Set {
	return Set{Labels: allowed.of(s.Labels), Annotations: allowed.of(s.Annotations)}
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

// of returns the selected entries, without keys of Kubernetes' reserved domains other than the recommended labels.
func (k Keys) of(from map[string]string) map[string]string {
	kept := maps.Clone(from)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		domain, _, prefixed := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		return !k.has(key) || prefixed && domain != ".app.kubernetes.io" &&
			(strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io"))
	})
	return kept
}
