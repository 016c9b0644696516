package derivedservice

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/status"
)

// reasonOlderDistribution is the reason of the remark that a Service has PreferClose in place of a newer value.
const reasonOlderDistribution = "TrafficDistributionNotSupported"

// retryDistribution is how long a refused value is not tried again. The API server may be upgraded at any time.
const retryDistribution = 10 * time.Minute

// fallback remembers which values of a Service's traffic distribution this cluster's API server has refused. The server's
// version would not tell, because a feature gate decides too. The zero value has no refusal.
type fallback struct {
	mu    sync.Mutex
	until map[string]time.Time // by value: when to try it again
}

// left returns how long a value is not to be tried.
func (f *fallback) left(value string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Until(f.until[value])
}

// refused records that a value was refused.
func (f *fallback) refused(value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until == nil {
		f.until = map[string]time.Time{}
	}
	f.until[value] = time.Now().Add(retryDistribution)
}

// remark describes how a derived Service differs from its import.
type remark struct {
	message string
	again   time.Duration // when to try again
}

func (r remark) outcome() status.Outcome {
	if r.message == "" {
		return status.Outcome{}
	}
	return status.Outcome{Remarks: []status.Remark{{Reason: reasonOlderDistribution, Message: r.message}}}
}

// writeWithFallback writes the derived Service of an import with the import's traffic distribution, or with PreferClose where this
// cluster's API server does not support that.
func (c *Controller) writeWithFallback(imp *mcsv1beta1.ServiceImport, write func(*mcsv1beta1.ServiceImport) (*corev1.Service, error)) (*corev1.Service, remark, error) {
	older := derived.WithOlderDistribution(imp)
	if older == nil {
		service, err := write(imp)
		return service, remark{}, err
	}
	value := *imp.Spec.TrafficDistribution
	if c.fallback.left(value) <= 0 {
		service, err := write(imp)
		if !unknownDistribution(err) {
			return service, remark{}, err
		}
		c.fallback.refused(value)
	}
	service, err := write(older)
	return service, remark{again: c.fallback.left(value) + time.Second, message: fmt.Sprintf(
		"Its traffic distribution %s is not supported by this cluster's API server: Kubernetes 1.34 or later is required. PreferClose is used instead.", value)}, err
}

// unknownDistribution tells whether the API server refuses a Service because of its traffic distribution.
func unknownDistribution(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec.trafficDistribution")
}
