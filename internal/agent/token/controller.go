// Package token renews the member's token for the broker, and makes the agent's clients use the token in the
// Secret.
package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/joining"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// answerTimeout is how long a request waits for its answer.
	answerTimeout = 10 * time.Second
	// patience is how long the agent waits for a membership before it logs that.
	patience = 2 * time.Second
	// maxJitter is the largest difference between replicas, as a part of the time until renewal.
	maxJitter = 0.1
)

// ErrChanged says that the cluster has another membership. Everything built on the old one must be rebuilt.
var ErrChanged = errors.New("the cluster's membership has changed")

// Controller owns the token in the Secret. Every replica runs one, and any of them may renew the token: the others take
// it from the Secret. Without a leader, even a replica that cannot reach its own API server keeps a valid token.
type Controller struct {
	local    kubernetes.Interface
	lifetime time.Duration
	log      *slog.Logger

	secrets cache.SharedIndexInformer
	changed chan struct{}
	refused atomic.Pointer[string] // the last refused token
}

// NewController returns a controller that requests tokens with the given lifetime. local is the member's own cluster.
func NewController(local kubernetes.Interface, lifetime time.Duration, log *slog.Logger) *Controller {
	c := &Controller{local: local, lifetime: lifetime, log: log, changed: make(chan struct{}, 1)}
	secrets := cache.NewListWatchFromClient(local.CoreV1().RESTClient(), "secrets", names.SystemNamespace,
		fields.OneTermEqualSelector(metav1.ObjectNameField, credential.SecretName))
	c.secrets = cache.NewSharedIndexInformer(secrets, &corev1.Secret{}, 0, nil)
	// Fails only if the informer has stopped.
	_, _ = c.secrets.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.wake() },
		UpdateFunc: func(any, any) { c.wake() },
		DeleteFunc: func(any) { c.wake() },
	})
	return c
}

func (c *Controller) wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Watch keeps the copy of the Secret current until ctx is done.
func (c *Controller) Watch(ctx context.Context) { c.secrets.RunWithContext(ctx) }

// Await waits until the cluster has a membership, and returns it.
func (c *Controller) Await(ctx context.Context) (credential.Membership, error) {
	var lastError string
	for {
		m, err := c.stored()
		if err == nil {
			return m, nil
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-c.changed:
			continue
		case <-time.After(patience):
		}
		if err.Error() != lastError {
			lastError = err.Error()
			c.log.Warn("This cluster is not a member of a clusterset", "reason", err, "action", "Join the cluster with a join file: "+command.Here.Atoll("join FILE"))
		}
	}
}

func (c *Controller) stored() (credential.Membership, error) {
	if !c.secrets.HasSynced() {
		return credential.Membership{}, errors.New("this cluster's API server has not answered yet")
	}
	object, exists, err := c.secrets.GetStore().GetByKey(names.SystemNamespace + "/" + credential.SecretName)
	if err != nil || !exists {
		return credential.Membership{}, fmt.Errorf("there is no Secret %s/%s", names.SystemNamespace, credential.SecretName)
	}
	return credential.FromSecret(object.(*corev1.Secret))
}

// Token returns the token of a membership for clients to use.
func (c *Controller) Token(m credential.Membership) *broker.Token {
	return broker.NewToken(m.Token, func(token string) {
		if before := c.refused.Swap(&token); before != nil && *before == token {
			return
		}
		claims, err := credential.ParseToken(token)
		switch {
		case err == nil && claims.IsJoiner(m.ClusterID, m.Clusterset):
			c.log.Error("The broker rejected the join file's token. This cluster is not a member and imports nothing",
				"reason", claims.WhyRefused(time.Now()), "server", m.Server, "action", m.NewFile())
		default:
			c.log.Error("The broker rejected this cluster's token. The token expired while the agent was off, another cluster or a new join replaced the token, or the cluster was removed from the clusterset. "+
				"Imported services keep working, but updates from other clusters are not received", "server", m.Server, "action", m.NewFile())
		}
	})
}

// Keep keeps the token valid until ctx is done, or returns ErrChanged when the membership changes. on is the broker,
// accessed with the token. Keep calls member once the token is the member's own. When placed is closed, the cluster id
// is known to belong to this cluster: Keep then gives up the join file's rights and the credentials of former joins.
func (c *Controller) Keep(ctx context.Context, m credential.Membership, token *broker.Token, on kubernetes.Interface, member func(), placed <-chan struct{}) error {
	jitter := maxJitter * rand.Float64()
	s := state{used: m.Token}
	var ended credential.Binding // the join that was ended last
	isPlaced := false
	for ctx.Err() == nil {
		stored, err := c.storedFor(m)
		if err != nil {
			return err
		}
		s.stored, s.jitter = stored, jitter
		claims, err := credential.ParseToken(s.used)
		if err == nil {
			if s.joiner = claims.IsJoiner(m.ClusterID, m.Clusterset); !s.joiner {
				member()
			}
		}
		next := decide(s, time.Now())
		switch {
		case next.use != "":
			c.log.Info("Switched to a new token for the broker")
			token.Set(next.use)
			s = state{used: next.use}
			continue
		case next.renew:
			s = c.renew(ctx, m, token, on, s)
			continue
		case next.store:
			c.store(ctx, s.used)
			next.after = firstRetry // unless the Secret has changed
		case isPlaced && !s.joiner && s.stored == s.used && ended != claims.Binding:
			if c.end(ctx, m, on, claims.Binding) {
				ended = claims.Binding
				continue
			}
			next.after = min(next.after, firstRetry)
		}
		if c.wait(ctx, next.after, placed) {
			placed, isPlaced = nil, true
		}
	}
	return nil
}

// storedFor returns the token of a membership that the Secret has, "" if the Secret cannot be read, or ErrChanged if it has
// another membership.
func (c *Controller) storedFor(m credential.Membership) (string, error) {
	stored, err := c.stored()
	switch {
	case err != nil:
		return "", nil
	case !stored.SameBroker(m):
		return "", ErrChanged
	}
	return stored.Token, nil
}

// wait returns after a time, or earlier when the Secret changes or the cluster is placed, and reports the latter.
func (c *Controller) wait(ctx context.Context, after time.Duration, placed <-chan struct{}) bool {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-placed:
		return true
	case <-ctx.Done():
	case <-c.changed:
	case <-timer.C:
	}
	return false
}

// renew requests a new token from the broker, and uses it. First it uses up a join file.
func (c *Controller) renew(ctx context.Context, m credential.Membership, token *broker.Token, on kubernetes.Interface, s state) state {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	s.triedAt = time.Now()
	if s.joiner && s.bound == (credential.Binding{}) {
		m.Token = s.used
		bound, err := joining.Use(ctx, on, m)
		if err != nil {
			s.failures++
			c.logUseFailure(m, s, err)
			return s
		}
		s.bound = bound
	}
	bound := s.bound
	if claims, err := credential.ParseToken(s.used); err == nil && !s.joiner {
		bound = claims.Binding
	}
	fresh, err := joining.Token(ctx, on, m, bound, c.lifetime)
	if err != nil {
		s.failures++
		if !errors.Is(err, context.Canceled) {
			c.log.Warn("Failed to renew the token for the broker. The agent retries", "error", err, "retryAfter", retryAfter(s.failures))
		}
		return s
	}
	c.log.Info("Renewed the token for the broker", "expires", fresh.ExpirationTimestamp.Time)
	token.Set(fresh.Token)
	return state{used: fresh.Token, replaced: s.used, renewedAt: s.triedAt, triedAt: s.triedAt}
}

// logUseFailure logs why the join file could not be used. Another replica may have used it, and stores its token before
// the next attempt.
func (c *Controller) logUseFailure(m credential.Membership, s state, err error) {
	in := retryAfter(s.failures)
	switch {
	case errors.Is(err, context.Canceled):
	case apierrors.IsAlreadyExists(err) && s.failures == 1:
		c.log.Info("Waiting until the replica that used the join file stores the new token", "retryAfter", in)
	case apierrors.IsAlreadyExists(err):
		c.log.Error("The join file was already used, but no replica of this agent has stored a token from the join file. This cluster is not a member and imports nothing",
			"server", m.Server, "action", m.UsedFile())
	default:
		c.log.Warn("Failed to use the join file. The agent retries", "error", err, "retryAfter", in)
	}
}

// end ends a join, and returns whether it succeeded.
func (c *Controller) end(ctx context.Context, m credential.Membership, on kubernetes.Interface, bound credential.Binding) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := joining.End(ctx, on, m, bound)
	if err != nil && !errors.Is(err, context.Canceled) {
		c.log.Warn("Failed to delete the join file's ServiceAccount on the broker. The agent retries", "error", err)
	}
	return err == nil
}

// store writes the current token to the Secret, for other replicas and for later.
func (c *Controller) store(ctx context.Context, token string) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	object, exists, err := c.secrets.GetStore().GetByKey(names.SystemNamespace + "/" + credential.SecretName)
	if err != nil || !exists {
		return
	}
	secret := object.(*corev1.Secret).DeepCopy()
	secret.Data[credential.KeyToken] = []byte(token)
	_, err = c.local.CoreV1().Secrets(names.SystemNamespace).Update(ctx, secret, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) { // a newer one is being stored
		c.log.Warn("Failed to store the renewed token. The agent retries", "error", err)
	}
}
