package lifecycle

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns how an API server is reached: as it is given, if it is; as a kubeconfig file says; or, without either, as a
// pod's own service account.
func Config(given *rest.Config, kubeconfig string) (*rest.Config, error) {
	switch {
	case given != nil:
		return given, nil
	case kubeconfig == "":
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// Scheme returns the kinds that these functions add.
func Scheme(adders ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range adders {
		if err := add(scheme); err != nil {
			panic(err) // two kinds of one name: a fault of the program's, seen by any test
		}
	}
	return scheme
}
