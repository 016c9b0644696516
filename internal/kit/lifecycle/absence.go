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

// What people are told of an API server that can't answer, and what to do about that.
const (
	unreached = "an API server is not reached, will try again: see whether it runs, whether its address is still that one, " +
		"and whether the network lets this program through to it"
	distrusted = "an API server's certificate is not trusted, will try again: see whether it is the right server, whether its certificate authority was " +
		"changed (a member has the broker's from atoll join, which brings the new one), and what time it is here"
	unaccepted = "an API server does not take this program's credentials, will try again with those that are renewed meanwhile: " +
		"where this lasts, see whether its service account is still there; of the broker's, join the clusterset again with: atoll join"
	unserved = "an API server does not serve a kind of object, will try again: install its custom resource definitions, as atoll join and the charts do"
	busy     = "an API server can't answer now, will try again: where this lasts, see its own log, and whether its etcd and what it gives its clients by priority and fairness are enough"
	strange  = "what an API server answers can't be made use of, will try again: see whether it is Kubernetes' own, of a version that this program knows"
)

// failure is one kind of failure of one API server.
type failure struct {
	server string // where the error says which
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

// absences are reported to people: each kind of failure of an API server once, however many copies of its objects
// it concerns and however often these try, and that it is over.
type absences struct {
	mu sync.Mutex
	of map[failure]*absence
}

// absence is one that goes on.
type absence struct {
	copies int // that it concerns
	since  time.Time
}

// reported is what has been reported of the API servers of this process. It is one for all copies: controller-runtime makes some of
// them, and none knows of another.
var reported = absences{of: map[failure]*absence{}}

// report says why a copy is without answer, unless that is known, and returns what goes on for it now in place of before.
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

// over says that something does not go on for a copy, and whether that is because it has got an answer.
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
