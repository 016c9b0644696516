package setup

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/joining"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// whoAmI checks that the broker fits the join file and accepts its token.
func whoAmI(ctx context.Context, r JoinRequest) error {
	as, err := connect(r.File, r.Broker, nil)
	if err != nil {
		return err
	}
	return as.Client.Create(ctx, &authenticationv1.SelfSubjectReview{})
}

// connect returns the broker with the token as credentials.
func connect(m credential.Membership, at credential.Locate, report install.Report) (*install.Target, error) {
	config := broker.NewToken(m.Token, nil).Config(m)
	config.Host = at.URL(m)
	config.Timeout = answerTime
	return install.NewTarget(config, report)
}

// answerTime is the timeout of one request to the broker.
const answerTime = 10 * time.Second

// exchange exchanges the join file for the member's own token. If this cluster has already used the file, it keeps the
// existing token.
func exchange(ctx context.Context, r JoinRequest, state memberState, say Say) (credential.Membership, *install.Target, error) {
	member := r.File
	if state.joined != nil && state.joined.From(r.File) {
		say("this cluster has already used the join file: using the cluster's existing credentials")
		member.Token = state.joined.Token
	} else {
		var err error
		if member.Token, err = use(ctx, r); err != nil {
			return member, nil, explain(err, r.File, time.Now())
		}
	}
	as, err := connect(member, r.Broker, nil)
	if err != nil {
		return member, nil, err
	}
	if err := free(ctx, as, member, state.uid); err != nil {
		return member, nil, explain(err, member, time.Now())
	}
	return member, as, nil
}

// use exchanges the join file for the member's token.
func use(ctx context.Context, r JoinRequest) (string, error) {
	as, err := connect(r.File, r.Broker, nil)
	if err != nil {
		return "", err
	}
	kube, err := kubernetes.NewForConfig(as.Config)
	if err != nil {
		return "", fmt.Errorf("creating a client for the broker: %w", err)
	}
	bound, err := joining.Use(ctx, kube, r.File)
	if err != nil {
		return "", err
	}
	// Only this process knows the Secret's UID and can get a token for it, so retry transient errors.
	var token authenticationv1.TokenRequestStatus
	if err := install.Wait(ctx, tokenTimeout, func(ctx context.Context) (err error) {
		token, err = joining.Token(ctx, kube, r.File, bound, rights.MaxTokenLifetime)
		return err
	}); err != nil {
		return "", hint(r.File.NewFile(), "the join file was used, but the broker issued no token: %w", err)
	}
	return token.Token, nil
}

// tokenTimeout limits the retries for the first token.
const tokenTimeout = 30 * time.Second

// free checks that no other cluster has the cluster ID, or one that overlaps it.
func free(ctx context.Context, onBroker *install.Target, m credential.Membership, uid string) error {
	have := &brokerv1alpha1.MemberCluster{}
	key := client.ObjectKey{Namespace: m.Clusterset, Name: m.ClusterID.String()}
	if err := onBroker.Get(ctx, key, have); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		return checkNested(ctx, onBroker, m.Clusterset, m.ClusterID)
	}
	switch {
	case have.Removed():
		return checkNested(ctx, onBroker, m.Clusterset, m.ClusterID)
	case have.Spec.ClusterUID == uid:
		return nil
	}
	return hint(fmt.Sprintf("The join file was used. To join with a different cluster id, create a new join file: %s. If the other cluster no longer exists, remove the other cluster and all its exports: %s. Then create a new join file for %s",
		command.Broker.Atoll("broker token create ID --clusterset %s", m.Clusterset), command.Broker.Atoll("broker members remove %s --clusterset %s", m.ClusterID, m.Clusterset), m.ClusterID),
		"cluster id %q belongs to another cluster. The namespace kube-system has UID %s in the other cluster, but UID %s in this cluster, and %s",
		m.ClusterID, have.Spec.ClusterUID, uid, lastHeard(ctx, onBroker, key))
}

// lastHeard formats the age of a member's heartbeat.
func lastHeard(ctx context.Context, onBroker *install.Target, member client.ObjectKey) string {
	lease := &coordinationv1.Lease{}
	if err := onBroker.Get(ctx, member, lease); err != nil || lease.Spec.RenewTime == nil {
		return "the other cluster has no heartbeat"
	}
	return fmt.Sprintf("the other cluster sent its last heartbeat %s ago", time.Since(lease.Spec.RenewTime.Time).Round(time.Second))
}

// endJoin revokes the join file that the member's token comes from, and the credentials of earlier joins.
func endJoin(ctx context.Context, onBroker *install.Target, m credential.Membership) error {
	claims, err := credential.ParseToken(m.Token)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(onBroker.Config)
	if err != nil {
		return fmt.Errorf("creating a client for the broker: %w", err)
	}
	return explain(joining.End(ctx, kube, m, claims.Binding), m, time.Now())
}
