// Package docs tests that the commands, manifests and links in the documentation work.
package docs

import (
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	"sigs.k8s.io/yaml"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/test/pages"
)

// Objects parses the objects of a YAML block. Unknown fields are errors. A block with only a
// part of an object, marked by its first word, has no objects.
func Objects(b pages.Block) (objects []client.Object, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, mcsv1alpha1.Install, mcsv1beta1.Install, brokerv1alpha1.AddToScheme, networkingv1alpha1.AddToScheme, trafficv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, document := range strings.Split(b.Text, "\n---\n") {
		if strings.HasPrefix(document, "rules:") {
			return nil, yaml.UnmarshalStrict([]byte(document), &rbacv1.ClusterRole{})
		}
		if !strings.Contains(document, "apiVersion:") {
			return nil, errors.New("the block is an unknown part of an object: write the whole object, or say before the block that it is not tried here")
		}
		decoded, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			return nil, err
		}
		object, ok := decoded.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is no object", decoded)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
