package lifecycle

import (
	"context"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// Options adds the options that all our programs share to those of a term's manager. The program ends when ctx is done.
func Options(ctx context.Context, o manager.Options) manager.Options {
	o.LeaderElectionReleaseOnCancel = true
	o.LeaseDuration = ptr.To(LeaseDuration)
	o.RenewDeadline = ptr.To(RenewDeadline)
	o.RetryPeriod = ptr.To(RetryPeriod)
	o.HealthProbeBindAddress = "0" // Health answers instead, and outlives the manager
	o.NewCache = newCache(ctx)
	o.Cache.DefaultTransform = kit.Trim
	o.Cache.NewInformer = NewInformer
	// Successive terms, and several programs in a test process, reuse controller names.
	o.Controller = config.Controller{SkipNameValidation: ptr.To(true)}
	return o
}
