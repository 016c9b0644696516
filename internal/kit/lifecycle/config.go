package lifecycle

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns the given client configuration, or reads the kubeconfig file, or uses the pod's service account.
func Config(given *rest.Config, kubeconfig string) (*rest.Config, error) {
	switch {
	case given != nil:
		return given, nil
	case kubeconfig == "":
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// Scheme returns a scheme with the kinds that these functions add.
func Scheme(adders ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range adders {
		if err := add(scheme); err != nil {
			panic(err) // duplicate kinds: a programming error that any test finds
		}
	}
	return scheme
}
