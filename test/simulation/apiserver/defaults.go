package apiserver

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// complete sets defaults. The caller holds mu.
func (s *store) complete(o Object) {
	switch o := o.(type) {
	case *corev1.Namespace:
		o.Status.Phase = corev1.NamespaceActive
	case *corev1.Service:
		s.completeService(&o.Spec)
	case *discoveryv1.EndpointSlice:
		for i := range o.Ports {
			port := &o.Ports[i]
			port.Name, port.Protocol = ptr.To(ptr.Deref(port.Name, "")), ptr.To(ptr.Deref(port.Protocol, corev1.ProtocolTCP))
		}
	}
}

// completeService sets a Service's addresses (IPv4 only) and defaults.
func (s *store) completeService(spec *corev1.ServiceSpec) {
	spec.Type = cmp.Or(spec.Type, corev1.ServiceTypeClusterIP)
	spec.SessionAffinity = cmp.Or(spec.SessionAffinity, corev1.ServiceAffinityNone)
	spec.InternalTrafficPolicy = ptr.To(ptr.Deref(spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster))
	for i := range spec.Ports {
		port := &spec.Ports[i]
		port.Protocol = cmp.Or(port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == (intstr.IntOrString{}) {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if spec.ClusterIP == "" {
		s.nextIP++
		spec.ClusterIP = fmt.Sprintf("10.%d.%d.%d", s.network, s.nextIP/256, s.nextIP%256)
	}
	spec.ClusterIPs = []string{spec.ClusterIP}
	spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	spec.IPFamilyPolicy = ptr.To(ptr.Deref(spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack))
}
