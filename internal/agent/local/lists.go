package local

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// ServiceExports returns a request for every ServiceExport that opts select.
func ServiceExports(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]reconcile.Request, error) {
	return requests(ctx, r, &mcsv1beta1.ServiceExportList{}, opts)
}

// ServiceImports returns a request for every ServiceImport that opts select.
func ServiceImports(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]reconcile.Request, error) {
	return requests(ctx, r, &mcsv1beta1.ServiceImportList{}, opts)
}

func requests(ctx context.Context, r client.Reader, list client.ObjectList, opts []client.ListOption) (all []reconcile.Request, _ error) {
	if err := r.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	err := meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
		return nil
	})
	return all, err
}
