package broker

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// DefaultNamespace is the default broker namespace of a clusterset.
const DefaultNamespace = "atoll-clusterset"

// Scheme returns the kinds that are stored on a broker.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, coordinationv1.AddToScheme,
		rbacv1.AddToScheme, admissionv1.AddToScheme, apiextensionsv1.AddToScheme,
		brokerv1alpha1.AddToScheme, mcsv1beta1.Install,
	} {
		if err := add(scheme); err != nil {
			panic(err) // duplicate kinds: a programming error that any test finds
		}
	}
	return scheme
}

// Connect returns a client of a broker, without a cache. If packets are lost, client-go disconnects after 45 s.
func Connect(config *rest.Config) (client.WithWatch, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's priority and fairness limits requests, not the client
	c, err := client.NewWithWatch(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("creating a client for the broker at %s: %w", config.Host, err)
	}
	return c, nil
}
