package podspec

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Objects gives the ConfigMaps and Secrets of the Pod's namespace, nil where
// there is none of that name.
type Objects interface {
	ConfigMap(name string) *corev1.ConfigMap
	Secret(name string) *corev1.Secret
}

// Env returns the environment of a container, without duplicates and in order
// of the names: base (what the runner itself sets), the services' variables,
// envFrom and env, later ones winning. An error says which reference is wrong.
func Env(pod *corev1.Pod, c *corev1.Container, place Place, objects Objects, base, services map[string]string) (map[string]string, error) {
	own := map[string]string{}
	for _, from := range c.EnvFrom {
		if err := addAll(own, from, objects); err != nil {
			return nil, err
		}
	}
	lookup := func(name string) (string, bool) {
		value, ok := own[name]
		if !ok {
			value, ok = services[name]
		}
		return value, ok
	}
	for _, e := range c.Env {
		value, present := Expand(e.Value, lookup), true
		if e.Value == "" && e.ValueFrom != nil {
			var err error
			if value, present, err = valueFrom(pod, c, place, objects, e.ValueFrom); err != nil {
				return nil, err
			}
		}
		if present {
			own[e.Name] = value
		}
	}
	env := map[string]string{}
	maps.Copy(env, base)
	maps.Copy(env, services)
	maps.Copy(env, own)
	return env, nil
}

// List writes an environment as NAME=value, in order of the names.
func List(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// addAll adds all entries of an object to env.
func addAll(env map[string]string, from corev1.EnvFromSource, objects Objects) error {
	switch {
	case from.ConfigMapRef != nil:
		object := objects.ConfigMap(from.ConfigMapRef.Name)
		if object == nil {
			return unlessOptional(from.ConfigMapRef.Optional, "configmap %q not found", from.ConfigMapRef.Name)
		}
		for k, v := range object.Data {
			env[from.Prefix+k] = v
		}
	case from.SecretRef != nil:
		object := objects.Secret(from.SecretRef.Name)
		if object == nil {
			return unlessOptional(from.SecretRef.Optional, "secret %q not found", from.SecretRef.Name)
		}
		for k, v := range object.Data {
			env[from.Prefix+k] = string(v)
		}
	}
	return nil
}

// valueFrom resolves a reference. An optional one that leads nowhere is absent,
// which is no error.
func valueFrom(pod *corev1.Pod, c *corev1.Container, place Place, objects Objects, source *corev1.EnvVarSource) (value string, present bool, err error) {
	switch {
	case source.FieldRef != nil:
		value, err = Field(pod, place, source.FieldRef.FieldPath)
		return value, true, err
	case source.ResourceFieldRef != nil:
		value, err = Resource(pod, c.Name, place, source.ResourceFieldRef)
		return value, true, err
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		object := objects.ConfigMap(ref.Name)
		if object == nil {
			return "", false, unlessOptional(ref.Optional, "configmap %q not found", ref.Name)
		}
		value, ok := object.Data[ref.Key]
		if !ok {
			return "", false, unlessOptional(ref.Optional, "couldn't find key %s in ConfigMap %s/%s", ref.Key, pod.Namespace, ref.Name)
		}
		return value, true, nil
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		object := objects.Secret(ref.Name)
		if object == nil {
			return "", false, unlessOptional(ref.Optional, "secret %q not found", ref.Name)
		}
		value, ok := object.Data[ref.Key]
		if !ok {
			return "", false, unlessOptional(ref.Optional, "couldn't find key %s in Secret %s/%s", ref.Key, pod.Namespace, ref.Name)
		}
		return string(value), true, nil
	}
	return "", false, fmt.Errorf("unsupported source of an environment variable")
}

func unlessOptional(optional *bool, format string, args ...any) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf(format, args...)
}
