package view

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// groups are keys by service, in order.
type groups[K comparable] struct {
	compare func(a, b K) int
	keys    map[string]map[string][]K // by namespace and name
}

func newGroups[K comparable](compare func(a, b K) int) groups[K] {
	return groups[K]{compare, map[string]map[string][]K{}}
}

// of returns the keys of a service. Callers must not keep them.
func (g groups[K]) of(service types.NamespacedName) []K {
	return g.keys[service.Namespace][service.Name]
}

// all returns all services, in returns those in a namespace.
func (g groups[K]) all() (services []types.NamespacedName) {
	for namespace := range g.keys {
		services = append(services, g.in(namespace)...)
	}
	return services
}

func (g groups[K]) in(namespace string) (services []types.NamespacedName) {
	for name := range g.keys[namespace] {
		services = append(services, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return services
}

// add adds a key to a service, unless its name is empty.
func (g groups[K]) add(service types.NamespacedName, key K) {
	if service.Name == "" {
		return
	}
	in := g.keys[service.Namespace]
	if in == nil {
		in = map[string][]K{}
		g.keys[service.Namespace] = in
	}
	i, _ := slices.BinarySearchFunc(in[service.Name], key, g.compare)
	in[service.Name] = slices.Insert(in[service.Name], i, key)
}

func (g groups[K]) remove(service types.NamespacedName, key K) {
	in := g.keys[service.Namespace]
	i, found := slices.BinarySearchFunc(in[service.Name], key, g.compare)
	if !found {
		return
	}
	if in[service.Name] = slices.Delete(in[service.Name], i, i+1); len(in[service.Name]) > 0 {
		return
	}
	if delete(in, service.Name); len(in) == 0 {
		delete(g.keys, service.Namespace)
	}
}
