package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Log messages for an API server that does not respond, with the fix.
const (
	unreached  = "An API server cannot be reached. The program retries. Check that the API server is running, that its address is correct, and that this program can connect to it."
	distrusted = "An API server's certificate is not trusted. The program retries. Check the address, this machine's clock, and whether the certificate authority changed. " +
		"If the broker's certificate authority changed, each member needs a new join file."
	unaccepted = "An API server does not accept this program's credentials. The program retries with renewed credentials. If this persists, check the program's ServiceAccount. " +
		"If the broker's API server is affected, join the cluster again with a new join file."
	unserved = "An API server does not serve a kind of object that this program needs. The program retries. Install the missing CustomResourceDefinition, which atoll join and the Helm charts contain."
	busy     = "An API server cannot answer requests. The program retries. If this persists, check the API server's log, its etcd, and its API Priority and Fairness settings."
	strange  = "An API server's answer is not valid. The program retries. Check that the address belongs to a Kubernetes API server of a supported version."
)

type failure struct {
	server string // as far as the error tells
	what   string // "" for none
}

func failureOf(err error) failure {
	var at *url.Error
	var network net.Error
	var certificate *tls.CertificateVerificationError
	c := failure{what: busy}
	if errors.As(err, &at) {
		if to, err := url.Parse(at.URL); err == nil {
			c.server = to.Host
		}
	}
	switch {
	case errors.As(err, &certificate):
		c.what = distrusted
	case at != nil, errors.As(err, &network):
		c.what = unreached
	case apierrors.IsUnauthorized(err):
		c.what = unaccepted
	case apierrors.IsNotFound(err):
		c.what = unserved
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		c.what = strange
	}
	return c
}

// absences logs each kind of failure of an API server once, and its end, however many caches it concerns and however
// often they retry.
type absences struct {
	mu sync.Mutex
	of map[failure]*absence
}

// absence is a failure that continues.
type absence struct {
	copies int // number of caches that it concerns
	since  time.Time
}

// reported is shared by all caches of the process: controller-runtime creates some of them, and they do not know of
// each other.
var reported = absences{of: map[failure]*absence{}}

// report logs a cache's new failure, and returns the failure that replaces before.
func (a *absences) report(ctx context.Context, before failure, err error) failure {
	now := failureOf(err)
	if now == before {
		return now
	}
	a.over(ctx, before, false)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[now] == nil {
		a.of[now] = &absence{since: time.Now()}
		klog.FromContext(ctx).Error(err, now.what)
	}
	a.of[now].copies++
	return now
}

// over ends a cache's failure; answered is true if the API server has responded.
func (a *absences) over(ctx context.Context, c failure, answered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.of[c]
	if of == nil {
		return
	}
	if of.copies--; of.copies > 0 {
		return
	}
	delete(a.of, c)
	if answered {
		klog.FromContext(ctx).Info("an API server answers again", "server", c.server, "after", time.Since(of.since).String())
	}
}
