package local

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// ServiceExports returns a request for every ServiceExport that opts select.
func ServiceExports(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]reconcile.Request, error) {
	exports := &mcsv1beta1.ServiceExportList{}
	if err := r.List(ctx, exports, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	requests := make([]reconcile.Request, 0, len(exports.Items))
	for i := range exports.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&exports.Items[i])})
	}
	return requests, nil
}

// ServiceImports returns a request for every ServiceImport that opts select.
func ServiceImports(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]reconcile.Request, error) {
	imports := &mcsv1beta1.ServiceImportList{}
	if err := r.List(ctx, imports, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	requests := make([]reconcile.Request, 0, len(imports.Items))
	for i := range imports.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&imports.Items[i])})
	}
	return requests, nil
}

// Managed reports whether Atoll manages a ServiceImport.
func Managed(imp *mcsv1beta1.ServiceImport) bool {
	return imp.Labels[names.LabelManagedBy] == names.AgentManager
}
