package setup

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// TokenRequest describes a join file to create.
type TokenRequest struct {
	// Namespace is the clusterset's on the broker.
	Namespace string
	// Cluster is the ID for the cluster.
	Cluster names.ClusterID
	// Lifetime is how long the join file is valid.
	Lifetime time.Duration
	// Server is the broker's URL for the member; empty means this program's own.
	Server string
	// CA is the broker's PEM certificate authority for the member; empty means to detect it.
	CA []byte
	// Replace permits a file that replaces the credentials of a member that seems to be alive. Such a file is valid for at
	// most ReplaceLifetime.
	Replace bool
}

// MinJoinLifetime and MaxJoinLifetime limit a join file's lifetime. API servers issue no token with a shorter lifetime
// than MinJoinLifetime.
const (
	MinJoinLifetime = 10 * time.Minute
	MaxJoinLifetime = 7 * 24 * time.Hour
)

// ReplaceLifetime is the longest lifetime of a join file for a member that seems to be alive. Its holder could take the
// member's place.
const ReplaceLifetime = time.Hour

// MinTokenLifetime is the shortest limit for members' tokens. Agents renew a token after a fifth of its lifetime.
const MinTokenLifetime = time.Hour

// CheckTokenLifetime returns an error unless members' tokens can have the lifetime.
func CheckTokenLifetime(lifetime time.Duration) error {
	if lifetime < MinTokenLifetime || lifetime > rights.MaxTokenLifetime {
		return fmt.Errorf("the lifetime of members' tokens must be from %v to %v, not %v", MinTokenLifetime, rights.MaxTokenLifetime, lifetime)
	}
	return nil
}

// LimitTokens sets the longest lifetime of members' tokens. It applies when they are renewed.
func LimitTokens(ctx context.Context, on *install.Target, namespace string, lifetime time.Duration) error {
	if err := annotate(ctx, on, namespace, names.AnnotationTokenLifetime, lifetime.String()); err != nil {
		return fmt.Errorf("limiting the lifetime of tokens: %w", err)
	}
	return nil
}

// annotate sets an annotation of a clusterset's namespace.
func annotate(ctx context.Context, on *install.Target, namespace, key, value string) error {
	place := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	before := place.DeepCopy()
	metav1.SetMetaDataAnnotation(&place.ObjectMeta, key, value)
	return on.Patch(ctx, place, client.MergeFrom(before))
}

// CreateToken creates a member's accounts on the broker and returns the contents of its join file. It invalidates an
// earlier join file of the cluster. Credentials from earlier joins stay valid until the cluster has joined with the
// new file.
func CreateToken(ctx context.Context, on *install.Target, r TokenRequest) (credential.Membership, error) {
	m := credential.Membership{ClusterID: r.Cluster, Clusterset: r.Namespace, Server: r.Server, CA: r.CA}
	if r.Lifetime < MinJoinLifetime || r.Lifetime > MaxJoinLifetime {
		return m, fmt.Errorf("the lifetime of a join file must be from %v to %v, not %v", MinJoinLifetime, MaxJoinLifetime, r.Lifetime)
	}
	if m.Server == "" {
		m.Server = on.Config.Host
		if loopback(m.Server) {
			return m, hint("Set the URL at which the members reach the broker: --server https://HOST:PORT",
				"the URL of the broker in this context is %s, which other machines cannot reach", m.Server)
		}
	}
	if err := clusterset(ctx, on, r.Namespace); err != nil {
		return m, err
	}
	var err error
	if m.Registry, err = Registry(ctx, on, r.Namespace); err != nil {
		return m, err
	}
	if err := checkNested(ctx, on, r.Namespace, r.Cluster); err != nil {
		return m, err
	}
	if err := checkLimits(ctx, on, r.Namespace); err != nil {
		return m, err
	}
	if age, alive, err := heartbeatAge(ctx, on, r.Namespace, r.Cluster); err != nil {
		return m, err
	} else if alive && !r.Replace {
		return m, hint("To give this member new credentials: "+on.On.Atoll("broker token create %s --clusterset %s --replace", r.Cluster, r.Namespace)+
			". For another cluster, choose another cluster id", "cluster %s is a member and seems to be alive: its last heartbeat is %s old", r.Cluster, age)
	}
	if len(m.CA) == 0 {
		if m.CA, err = authority(ctx, on, r.Namespace); err != nil {
			return m, err
		}
	}
	member, err := applyAccount(ctx, on, rights.Member(r.Namespace, r.Cluster))
	if err != nil {
		return m, err
	}
	if _, err := revoke(ctx, on, r.Namespace, r.Cluster, member); err != nil {
		return m, err
	}
	joiner, err := applyAccount(ctx, on, rights.Joiner(r.Namespace, r.Cluster))
	if err != nil {
		return m, err
	}
	if m.Token, err = requestToken(ctx, on, joiner, r.Lifetime); err != nil {
		return m, fmt.Errorf("requesting a token: %w", err)
	}
	claims, err := credential.ParseToken(m.Token)
	if err != nil {
		return m, fmt.Errorf("reading the token that the broker has issued: %w", err)
	}
	before := joiner.DeepCopy()
	metav1.SetMetaDataAnnotation(&joiner.ObjectMeta, names.AnnotationExpires, claims.Expires.UTC().Format(time.RFC3339))
	if err := on.Patch(ctx, joiner, client.MergeFrom(before)); err != nil {
		return m, fmt.Errorf("saving the expiry time of the token in ServiceAccount %s: %w", joiner.Name, err)
	}
	// After joining, the cluster deletes the joiner's account, and Kubernetes deletes the objects that it owns.
	if err := setOwner(ctx, on, r.Namespace, r.Cluster, joiner); err != nil {
		return m, err
	}
	return m, m.Validate()
}

// applyAccount creates a ServiceAccount and its permissions. The ServiceAccount owns the permissions, so they are
// deleted with it.
func applyAccount(ctx context.Context, on *install.Target, account rights.Account) (*corev1.ServiceAccount, error) {
	if err := on.Apply(ctx, install.Objects(account.ServiceAccount)...); err != nil {
		return nil, err
	}
	made := &corev1.ServiceAccount{}
	if err := on.Get(ctx, client.ObjectKeyFromObject(account.ServiceAccount), made); err != nil {
		return nil, fmt.Errorf("reading ServiceAccount %s: %w", account.ServiceAccount.Name, err)
	}
	return made, on.Apply(ctx, install.Objects(account.Rights(made)...)...)
}

func requestToken(ctx context.Context, on *install.Target, of *corev1.ServiceAccount, lifetime time.Duration) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(lifetime / time.Second)),
	}}
	if err := on.SubResource("token").Create(ctx, of, request); err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// loopback reports whether a URL is on the loopback interface.
func loopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && (a.IsLoopback() || a.IsUnspecified())
}
