package local

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestReadServiceNetwork(t *testing.T) {
	const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol
	ranges := func(name string, cidrs ...string) client.Object {
		return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
	}
	for _, tt := range []struct {
		name    string
		primary corev1.IPFamily
		ranges  []client.Object
		given   []string // by the flag
		want    []corev1.IPFamily
		cidrs   int
	}{
		{"IPv4", v4, []client.Object{ranges("kubernetes", "10.0.0.0/16")}, nil, []corev1.IPFamily{v4}, 1},
		{"IPv6", v6, []client.Object{ranges("kubernetes", "fd00::/112")}, nil, []corev1.IPFamily{v6}, 1},
		{"both", v4, []client.Object{ranges("kubernetes", "10.0.0.0/16", "fd00::/112")}, nil, []corev1.IPFamily{v4, v6}, 2},
		{"both, IPv6 first", v6, []client.Object{ranges("kubernetes", "fd00::/112", "10.0.0.0/16")}, nil, []corev1.IPFamily{v6, v4}, 2},
		{"more addresses are no family", v4, []client.Object{ranges("kubernetes", "10.0.0.0/16"), ranges("more", "fd00::/112")}, nil, []corev1.IPFamily{v4}, 2},
		{"before there were ranges", v6, nil, nil, []corev1.IPFamily{v6}, 0},
		{"before there were ranges, with a flag", v6, nil, []string{"10.0.0.0/16", "fd00::/112"}, []corev1.IPFamily{v6, v4}, 2},
		{"a flag beside ranges", v4, []client.Object{ranges("kubernetes", "10.0.0.0/16")}, []string{"10.0.0.0/16", "fd00::/112"}, []corev1.IPFamily{v4}, 1},
	} {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"},
			Spec:       corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{tt.primary}},
		}
		c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(append(tt.ranges, service)...).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if len(tt.ranges) == 0 {
					return &meta.NoKindMatchError{GroupKind: networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR").GroupKind()}
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
		got, err := ReadServiceNetwork(t.Context(), c, tt.given)
		if err != nil || !slices.Equal(got.Families, tt.want) || len(got.CIDRs) != tt.cidrs {
			t.Errorf("%s: got %+v, %v", tt.name, got, err)
		}
	}
}
