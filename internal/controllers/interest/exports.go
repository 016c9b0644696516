package interest

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
)

// Exports makes the copy of the cluster's own EndpointSlices follow the namespaces that
// have ServiceExports.
type Exports struct {
	local   cache.Cache
	sources *local.Sources
	// exports are the names of ServiceExports, by namespace. Events come one at a time.
	exports map[string]map[string]bool
}

// NewExports returns a controller that reads the ServiceExports from local.
func NewExports(local cache.Cache, sources *local.Sources) *Exports {
	return &Exports{local: local, sources: sources, exports: map[string]map[string]bool{}}
}

// NeedLeaderElection makes the controller run on every replica.
func (e *Exports) NeedLeaderElection() bool { return false }

// Start follows ServiceExports until ctx is done.
func (e *Exports) Start(ctx context.Context) error {
	off, err := watch(ctx, e.local, &mcsv1beta1.ServiceExport{}, e.added, e.deleted)
	if err != nil {
		return fmt.Errorf("watching ServiceExports: %w", err)
	}
	<-ctx.Done()
	off()
	return nil
}

func (e *Exports) added(export client.Object) {
	namespace := export.GetNamespace()
	if e.exports[namespace] == nil {
		e.exports[namespace] = map[string]bool{}
		e.sources.Follow(namespace)
	}
	e.exports[namespace][export.GetName()] = true
}

func (e *Exports) deleted(export client.Object) {
	namespace := export.GetNamespace()
	delete(e.exports[namespace], export.GetName())
	if len(e.exports[namespace]) == 0 {
		delete(e.exports, namespace)
		e.sources.Unfollow(namespace)
	}
}
