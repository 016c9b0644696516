package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// State is the state of a join file.
type State string

// Values of State.
const (
	// Unused files can be used.
	Unused State = "unused"
	// Expired files were not used in time.
	Expired State = "expired"
	// Used files have been exchanged for the member's credentials.
	Used State = "used"
)

// JoinToken is the broker's record of a join file.
type JoinToken struct {
	// Cluster is the ID in the file.
	Cluster string `json:"cluster"`
	State   State  `json:"state"`
	// Expires is the end of validity. It is nil after a completed join.
	Expires *time.Time `json:"expires,omitempty"`
	// Used is the time of use, or nil.
	Used *time.Time `json:"used,omitempty"`
}

// ListTokens returns a clusterset's join files, by cluster and state: usable ones, expired ones without a successor,
// and used ones whose credentials are valid.
func ListTokens(ctx context.Context, on *install.Target, namespace string, now time.Time) ([]JoinToken, error) {
	if err := clusterset(ctx, on, namespace); err != nil {
		return nil, err
	}
	accounts := &corev1.ServiceAccountList{}
	if err := on.List(ctx, accounts, client.InNamespace(namespace), client.HasLabels{names.LabelSourceCluster}); err != nil {
		return nil, fmt.Errorf("listing the accounts of join files: %w", err)
	}
	used, err := credentials(ctx, on, namespace, client.HasLabels{names.LabelSourceCluster})
	if err != nil {
		return nil, err
	}
	return joinTokens(accounts.Items, used, now), nil
}

func joinTokens(accounts []corev1.ServiceAccount, used []corev1.Secret, now time.Time) []JoinToken {
	var tokens []JoinToken
	expires := map[string]*time.Time{} // by Secret name
	for _, a := range accounts {
		id, err := names.ParseClusterID(a.Labels[names.LabelSourceCluster])
		if err != nil || a.Name != names.JoinerAccount(id) {
			continue
		}
		token := JoinToken{Cluster: id.String(), State: Unused}
		if at, err := time.Parse(time.RFC3339, a.Annotations[names.AnnotationExpires]); err == nil {
			if token.Expires = &at; now.After(at) {
				token.State = Expired
			}
		}
		name := names.MemberCredential(id, string(a.UID))
		if expires[name] = token.Expires; !slices.ContainsFunc(used, func(s corev1.Secret) bool { return s.Name == name }) {
			tokens = append(tokens, token)
		}
	}
	for _, s := range used {
		tokens = append(tokens, JoinToken{
			Cluster: s.Labels[names.LabelSourceCluster], State: Used, Expires: expires[s.Name], Used: &s.CreationTimestamp.Time,
		})
	}
	slices.SortStableFunc(tokens, func(a, b JoinToken) int {
		return strings.Compare(a.Cluster+" "+string(a.State), b.Cluster+" "+string(b.State))
	})
	return tokens
}

// RevokeToken revokes a cluster's join file and returns its former state, or nil if there was none. A cluster that has
// used the file stays a member: use Remove to cut it off.
func RevokeToken(ctx context.Context, on *install.Target, namespace string, cluster names.ClusterID, now time.Time) (*JoinToken, error) {
	all, err := ListTokens(ctx, on, namespace, now)
	if err != nil {
		return nil, err
	}
	member := &corev1.ServiceAccount{}
	if err := on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.MemberAccount(cluster)}, member); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the member's account: %w", err)
	}
	there, err := revoke(ctx, on, namespace, cluster, member)
	if err != nil || !there {
		return nil, err
	}
	// Files with an account have an expiry. Completed ones have none.
	i := slices.IndexFunc(all, func(t JoinToken) bool { return t.Cluster == cluster.String() && t.Expires != nil })
	if i < 0 { // an older version created it
		return &JoinToken{Cluster: cluster.String(), State: Unused}, nil
	}
	return &all[i], nil
}

// revoke deletes the account and permissions of a cluster's join file, and reports whether it existed. First it makes
// the member's account the owner of the credentials, so that an existing member keeps them.
func revoke(ctx context.Context, on *install.Target, namespace string, cluster names.ClusterID, member *corev1.ServiceAccount) (bool, error) {
	if member.UID != "" {
		if err := setOwner(ctx, on, namespace, cluster, member); err != nil {
			return false, err
		}
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: names.JoinerAccount(cluster)}
	// This takes the account's permissions at once; the API server may accept its token for another ten seconds.
	if err := on.Client.Delete(ctx, &rbacv1.RoleBinding{ObjectMeta: meta}); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("removing the permissions of the join file: %w", err)
	}
	err := on.Client.Delete(ctx, &corev1.ServiceAccount{ObjectMeta: meta})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("deleting the account of the join file: %w", err)
	}
	return !apierrors.IsNotFound(err), nil
}

// credentials lists Secrets that members' tokens are bound to.
func credentials(ctx context.Context, on *install.Target, namespace string, of client.ListOption) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	if err := on.List(ctx, list, client.InNamespace(namespace), of); err != nil {
		return nil, fmt.Errorf("listing the credentials of members: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return s.Type != names.CredentialType }), nil
}

// setOwner makes one account the only owner of a cluster's credentials, so that they are deleted with it.
func setOwner(ctx context.Context, on *install.Target, namespace string, cluster names.ClusterID, account *corev1.ServiceAccount) error {
	all, err := credentials(ctx, on, namespace, client.MatchingLabels{names.LabelSourceCluster: cluster.String()})
	if err != nil {
		return err
	}
	for _, secret := range all {
		before := secret.DeepCopy()
		secret.OwnerReferences = []metav1.OwnerReference{rights.OwnedBy(account.Name, account.UID)}
		if err := on.Patch(ctx, &secret, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("changing the owner of Secret %s: %w", secret.Name, err)
		}
	}
	return nil
}
