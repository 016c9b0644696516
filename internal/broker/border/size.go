package border

import (
	"unsafe"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// In memory, an allocation takes a multiple of allocated bytes, and an entry of a map about perEntry bytes and its strings.
const (
	allocated = 16
	perEntry  = 40
)

// SizeOf returns what a slice takes in a cache, which shares common values (kit.Trim). The bytes are an estimate.
func SizeOf(s *discoveryv1.EndpointSlice) Size {
	bytes := int(unsafe.Sizeof(*s)) + len(s.Ports)*int(unsafe.Sizeof(discoveryv1.EndpointPort{})) + len(s.Endpoints)*int(unsafe.Sizeof(discoveryv1.Endpoint{}))
	for _, text := range []string{s.Name, s.Namespace, string(s.UID), s.ResourceVersion, string(s.AddressType)} {
		bytes += text16(text)
	}
	for _, pairs := range []map[string]string{s.Labels, s.Annotations} {
		for key, value := range pairs {
			bytes += perEntry + text16(key) + text16(value)
		}
	}
	for _, p := range s.Ports {
		bytes += 4*allocated + optional(p.Name) + optional(p.AppProtocol)
	}
	for i := range s.Endpoints {
		bytes += sizeOf(&s.Endpoints[i])
	}
	return Size{Endpoints: int64(len(s.Endpoints)), Bytes: int64(bytes)}
}

func sizeOf(e *discoveryv1.Endpoint) (bytes int) {
	for _, address := range e.Addresses {
		bytes += int(unsafe.Sizeof(address)) + text16(address)
	}
	bytes += optional(e.Hostname)
	if e.Hints != nil {
		bytes += int(unsafe.Sizeof(*e.Hints))
		for _, zone := range e.Hints.ForZones {
			bytes += int(unsafe.Sizeof(zone)) + text16(zone.Name)
		}
		for _, node := range e.Hints.ForNodes {
			bytes += int(unsafe.Sizeof(node)) + text16(node.Name)
		}
	}
	return bytes
}

// text16 returns what a string takes without its header.
func text16(s string) int { return (len(s) + allocated - 1) / allocated * allocated }

func optional(s *string) int {
	if s == nil {
		return 0
	}
	return allocated + text16(*s)
}
