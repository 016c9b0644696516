package apiserver

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
)

// Object is any object that the server stores.
type Object = client.Object

// kind is a kind that the server serves.
type kind struct {
	schema.GroupVersionKind
	plural     string
	namespaced bool
	// status kinds have a status subresource.
	status bool
	// native kinds support protobuf; others are custom resources.
	native bool
	// discarded kinds can be created but are not stored.
	discarded bool
	list      schema.GroupVersionKind
}

// kinds lists the kinds that agents and hubs read and write, in their own cluster and on a
// broker.
var kinds = []*kind{
	native(corev1.SchemeGroupVersion, "Namespace", "namespaces", kind{status: true}),
	native(corev1.SchemeGroupVersion, "Node", "nodes", kind{status: true}),
	native(corev1.SchemeGroupVersion, "ConfigMap", "configmaps", kind{namespaced: true}),
	native(corev1.SchemeGroupVersion, "Service", "services", kind{namespaced: true, status: true}),
	native(discoveryv1.SchemeGroupVersion, "EndpointSlice", "endpointslices", kind{namespaced: true}),
	native(networkingv1.SchemeGroupVersion, "ServiceCIDR", "servicecidrs", kind{status: true}),
	native(coordinationv1.SchemeGroupVersion, "Lease", "leases", kind{namespaced: true}),
	native(eventsv1.SchemeGroupVersion, "Event", "events", kind{namespaced: true, discarded: true}),
	custom(schema.GroupVersion(mcsv1beta1.GroupVersion), "ServiceExport", "serviceexports", kind{namespaced: true, status: true}),
	custom(schema.GroupVersion(mcsv1beta1.GroupVersion), "ServiceImport", "serviceimports", kind{namespaced: true, status: true}),
	custom(aboutv1beta1.GroupVersion, "ClusterProperty", "clusterproperties", kind{}),
	custom(trafficv1alpha1.GroupVersion, trafficv1alpha1.TrafficPolicyKind, trafficv1alpha1.TrafficPolicyResource, kind{namespaced: true, status: true}),
	custom(brokerv1alpha1.GroupVersion, "ExportedService", "exportedservices", kind{namespaced: true}),
	custom(brokerv1alpha1.GroupVersion, "MemberCluster", "memberclusters", kind{namespaced: true}),
	custom(brokerv1alpha1.GroupVersion, "ServicePolicy", "servicepolicies", kind{namespaced: true}),
	custom(networkingv1alpha1.GroupVersion, networkingv1alpha1.MultiClusterServiceKind, "multiclusterservices", kind{namespaced: true, status: true}),
}

var (
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	added := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, mcsv1beta1.Install, aboutv1beta1.AddToScheme, brokerv1alpha1.AddToScheme, networkingv1alpha1.AddToScheme,
		trafficv1alpha1.AddToScheme, metav1.AddMetaToScheme)
	if err := added.AddToScheme(s); err != nil {
		panic(err) // two kinds have the same name
	}
	return s
}

func native(gv schema.GroupVersion, name, plural string, k kind) *kind {
	k.native = true
	return custom(gv, name, plural, k)
}

func custom(gv schema.GroupVersion, name, plural string, k kind) *kind {
	k.GroupVersionKind, k.list, k.plural = gv.WithKind(name), gv.WithKind(name+"List"), plural
	return &k
}

func kindOf(group, version, plural string) *kind {
	for _, k := range kinds {
		if k.Group == group && k.Version == version && k.plural == plural {
			return k
		}
	}
	return nil
}

// new returns an empty object of the kind.
func (k *kind) new() Object {
	object, err := scheme.New(k.GroupVersionKind)
	if err != nil {
		panic(err) // a kind in the table is missing from the scheme
	}
	object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return object.(Object)
}

func groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[string]bool{"": true} // the core group has a path of its own
	for _, k := range kinds {
		if seen[k.Group] {
			continue
		}
		seen[k.Group] = true
		version := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{
			Name: k.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
		})
	}
	return list
}

func resourcesAt(path string) (metav1.APIResourceList, bool) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, k := range kinds {
		at := "/apis/" + k.GroupVersion().String()
		if k.Group == "" {
			at = "/api/" + k.Version
		}
		if at != path {
			continue
		}
		list.GroupVersion = k.GroupVersion().String()
		resource := metav1.APIResource{
			Name: k.plural, SingularName: strings.ToLower(k.Kind), Kind: k.Kind, Namespaced: k.namespaced,
			Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		}
		list.APIResources = append(list.APIResources, resource)
		if k.status {
			resource.Name += "/status"
			resource.Verbs = metav1.Verbs{"get", "patch", "update"}
			list.APIResources = append(list.APIResources, resource)
		}
	}
	return list, len(list.APIResources) > 0
}
