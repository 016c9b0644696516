package setup

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/credential"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/names"
)

// whoAmI makes sure that the broker is the join file's, and accepts its token.
func whoAmI(ctx context.Context, r JoinRequest) error {
	as, err := connect(r.File, r.BrokerServer, nil)
	if err != nil {
		return err
	}
	return as.Client.Create(ctx, &authenticationv1.SelfSubjectReview{})
}

// connect returns the broker as the token's owner reaches it, at another address than the
// membership's where one is given.
func connect(m credential.Membership, server string, report install.Report) (*install.Target, error) {
	config := broker.NewToken(m.Token, nil).Config(m)
	if server != "" {
		config.Host = server
	}
	config.Timeout = answerTime
	return install.NewTarget(config, report)
}

// answerTime is how long one answer of the broker is waited for.
const answerTime = 10 * time.Second

// exchange takes the join file's token to the broker and gets the member's own for it. Where
// the file was used already, by this cluster, what it has got then is as good.
func exchange(ctx context.Context, r JoinRequest, state memberState, say Say) (credential.Membership, *install.Target, error) {
	member := r.File
	as, err := connect(member, r.BrokerServer, nil)
	if err != nil {
		return member, nil, err
	}
	token, err := requestToken(ctx, as, member.Clusterset, names.MemberAccount(member.ClusterID), rights.MaxTokenLifetime)
	switch {
	case err == nil:
		member.Token = token
	case usedUp(err) && state.joined != nil && state.joined.SameBroker(member):
		say("the join file was used already: going on with what the cluster has got for it")
		member.Token = state.joined.Token
	default:
		return member, nil, explain(err, member, time.Now())
	}
	as, err = connect(member, r.BrokerServer, nil)
	if err != nil {
		return member, nil, err
	}
	if err := free(ctx, as, member, state.uid); err != nil {
		return member, nil, explainUnlessHint(err, member)
	}
	return member, as, nil
}

// usedUp tells whether an error is what a join file gets that was used already: its account's
// rights go first, and then, up to ten seconds later, the API server forgets the token.
func usedUp(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

func explainUnlessHint(err error, m credential.Membership) error {
	var already *Hint
	if errors.As(err, &already) {
		return err
	}
	return explain(err, m, time.Now())
}

// free makes sure that a cluster id is no other cluster's.
func free(ctx context.Context, onBroker *install.Target, m credential.Membership, uid string) error {
	have := &brokerv1alpha1.MemberCluster{}
	key := client.ObjectKey{Namespace: m.Clusterset, Name: m.ClusterID.String()}
	if err := onBroker.Get(ctx, key, have); err != nil {
		return client.IgnoreNotFound(err)
	}
	if have.Spec.ClusterUID == uid {
		return nil
	}
	return hint(fmt.Sprintf("join with another id: atoll broker token create ID --namespace %[2]s. If that cluster is gone for good: atoll broker remove %[1]s --namespace %[2]s", m.ClusterID, m.Clusterset),
		"cluster id %q belongs to another cluster already (its kube-system namespace has UID %s, this one's %s; %s)",
		m.ClusterID, have.Spec.ClusterUID, uid, lastHeard(ctx, onBroker, key))
}

// lastHeard says when a member was last heard of.
func lastHeard(ctx context.Context, onBroker *install.Target, member client.ObjectKey) string {
	lease := &coordinationv1.Lease{}
	if err := onBroker.Get(ctx, member, lease); err != nil || lease.Spec.RenewTime == nil {
		return "it has no heartbeat"
	}
	return fmt.Sprintf("it was last heard of %s ago", time.Since(lease.Spec.RenewTime.Time).Round(time.Second))
}

// useUp makes the join file worthless.
func useUp(ctx context.Context, onBroker *install.Target, m credential.Membership) error {
	joiner := rights.Joiner(m.Clusterset, m.ClusterID).ServiceAccount
	if err := client.IgnoreNotFound(onBroker.Client.Delete(ctx, joiner)); err != nil {
		return explain(err, m, time.Now())
	}
	return nil
}
