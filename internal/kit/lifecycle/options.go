package lifecycle

import (
	"context"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// Options completes the options of the manager of one term, in a program that ends when ctx is
// done, with what all such programs have in common.
func Options(ctx context.Context, o manager.Options) manager.Options {
	o.LeaderElectionReleaseOnCancel = true
	o.LeaseDuration = ptr.To(LeaseDuration)
	o.RenewDeadline = ptr.To(RenewDeadline)
	o.RetryPeriod = ptr.To(RetryPeriod)
	o.HealthProbeBindAddress = "0" // Health answers, and outlasts the manager
	o.NewCache = newCache(ctx)
	o.Cache.DefaultTransform = kit.Trim
	o.Cache.NewInformer = NewInformer
	// One term after the other, and several programs in one process, as in tests, have
	// controllers of the same names.
	o.Controller = config.Controller{SkipNameValidation: ptr.To(true)}
	return o
}
