package bed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// PerSlice is the number of endpoints in a full slice.
const PerSlice = 100

// writers limits the parallel requests when many objects are created.
const writers = 16

// Service is a service with endpoints to export.
type Service struct {
	Namespace, Name string
	// Endpoints is the number of endpoints. The slices have about equal sizes.
	Endpoints int
	// Pieces is the number of slices; 0 means as few as possible.
	Pieces int
	// First is the number of the first endpoint's address. Services need it to have distinct
	// addresses.
	First int
}

// Address returns the address with a number. It is outside all ranges of the lab.
func Address(number int) string {
	return netip.AddrFrom4([4]byte{11, byte(number >> 16), byte(number >> 8), byte(number)}).String()
}

// Object returns the Service itself.
func (s Service) Object() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, AppProtocol: ptr.To("http")}}},
	}
}

// Slices returns the Service's EndpointSlices, shaped as the built-in controller's.
func (s Service) Slices() []*discoveryv1.EndpointSlice {
	pieces := cmp.Or(s.Pieces, (s.Endpoints+PerSlice-1)/PerSlice)
	begin := func(piece int) int { return s.Endpoints * piece / pieces }
	slices := make([]*discoveryv1.EndpointSlice, pieces)
	for piece := range slices {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Namespace, Name: fmt.Sprintf("%s-%04d", s.Name, piece),
				Labels: map[string]string{discoveryv1.LabelServiceName: s.Name, discoveryv1.LabelManagedBy: "bench"},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080)), Protocol: ptr.To(corev1.ProtocolTCP)}},
		}
		for i := begin(piece); i < begin(piece+1); i++ {
			slice.Endpoints = append(slice.Endpoints, Endpoint(s.Namespace, s.First+i))
		}
		slices[piece] = slice
	}
	return slices
}

// Endpoint returns a ready endpoint as the built-in controller creates it for a pod.
func Endpoint(namespace string, number int) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{Address(number)},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		NodeName:   ptr.To(fmt.Sprintf("node-%d", number%1000)),
		Zone:       ptr.To(fmt.Sprintf("zone-%c", 'a'+number%3)),
		TargetRef: &corev1.ObjectReference{
			Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("web-6b7f9c5d4-%05d", number),
			UID: types.UID(fmt.Sprintf("11111111-2222-3333-4444-%012d", number)),
		},
	}
}

// Create creates the Service and its slices without exporting it.
func (s Service) Create(ctx context.Context, c client.Client) error {
	if err := c.Create(ctx, s.Object()); err != nil {
		return fmt.Errorf("creating Service %s: %w", s.Name, err)
	}
	return Each(ctx, s.Slices(), func(ctx context.Context, slice *discoveryv1.EndpointSlice) error {
		if err := c.Create(ctx, slice); err != nil {
			return fmt.Errorf("creating EndpointSlice %s: %w", slice.Name, err)
		}
		return nil
	})
}

// Export exports the Service. A Service that is already exported is not an error.
func (s Service) Export(ctx context.Context, c client.Client) error {
	err := c.Create(ctx, &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("exporting %s: %w", s.Name, err)
	}
	return nil
}

// Delete deletes the Service with its export and slices.
func (s Service) Delete(ctx context.Context, c client.Client) error {
	return errors.Join(
		client.IgnoreNotFound(c.Delete(ctx, &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}})),
		client.IgnoreNotFound(c.Delete(ctx, s.Object())),
		c.DeleteAllOf(ctx, &discoveryv1.EndpointSlice{}, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name}),
	)
}

// Each calls do for all items, 16 at a time.
func Each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// NamespaceObject returns a namespace.
func NamespaceObject(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Namespace creates a namespace in clusters that lack it.
func (b *Bed) Namespace(ctx context.Context, name string, clusters ...string) error {
	for _, c := range clusters {
		err := b.On[c].Create(ctx, NamespaceObject(name))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making namespace %s in %s: %w", name, c, err)
		}
	}
	return nil
}
