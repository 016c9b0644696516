package podrunner

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// objects are the cluster's objects that Pods refer to, kept current by watches.
type objects struct {
	factory    informers.SharedInformerFactory
	configMaps corelisters.ConfigMapLister
	secrets    corelisters.SecretLister
	services   corelisters.ServiceLister
}

// newObjects calls changed with the namespace of each ConfigMap and Secret that
// changes.
func newObjects(client kubernetes.Interface, changed func(namespace string)) (*objects, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagedFields))
	core := factory.Core().V1()
	o := &objects{factory, core.ConfigMaps().Lister(), core.Secrets().Lister(), core.Services().Lister()}
	notify := func(object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if m, err := meta.Accessor(object); err == nil {
			changed(m.GetNamespace())
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, object any) { notify(object) }, DeleteFunc: notify,
	}
	for _, informer := range []cache.SharedIndexInformer{core.ConfigMaps().Informer(), core.Secrets().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	core.Services().Informer()
	return o, nil
}

func withoutManagedFields(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil {
		m.SetManagedFields(nil)
	}
	return object, nil
}

// in gives the objects of one namespace.
func (o *objects) in(namespace string) namespaceObjects { return namespaceObjects{o, namespace} }

type namespaceObjects struct {
	*objects
	namespace string
}

// ConfigMap returns nil where there is none.
func (o namespaceObjects) ConfigMap(name string) *corev1.ConfigMap {
	object, err := o.configMaps.ConfigMaps(o.namespace).Get(name)
	if err != nil {
		return nil
	}
	return object
}

// Secret returns nil where there is none.
func (o namespaceObjects) Secret(name string) *corev1.Secret {
	object, err := o.secrets.Secrets(o.namespace).Get(name)
	if err != nil {
		return nil
	}
	return object
}

// linked are the Services that containers are told of by their environment: the
// API server's, and with links all of the namespace.
func (o namespaceObjects) linked(links bool) []*corev1.Service {
	var all []*corev1.Service
	if api, err := o.services.Services(corev1.NamespaceDefault).Get("kubernetes"); err == nil {
		all = append(all, api)
	}
	if !links {
		return all
	}
	own, err := o.services.Services(o.namespace).List(labels.Everything())
	if err != nil {
		return all
	}
	return append(all, own...)
}
