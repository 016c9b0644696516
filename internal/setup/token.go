package setup

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/credential"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/names"
)

// TokenRequest asks for a join file.
type TokenRequest struct {
	// Namespace is the clusterset's on the broker.
	Namespace string
	// Cluster is the id that the cluster is to have.
	Cluster names.ClusterID
	// Lifetime is how long the join file is good for.
	Lifetime time.Duration
	// Server is the broker's URL for the member; empty means the one that this program uses.
	Server string
	// CA is the broker's certificate authority for the member, in PEM; empty means to find out.
	CA []byte
}

// CreateToken makes the accounts of a member on the broker and returns what goes into its
// join file.
func CreateToken(ctx context.Context, on *install.Target, r TokenRequest) (credential.Membership, error) {
	m := credential.Membership{ClusterID: r.Cluster, Clusterset: r.Namespace, Server: r.Server, CA: r.CA}
	if m.Server == "" {
		m.Server = on.Config.Host
		if loopback(m.Server) {
			return m, hint("say how the members reach it: --server https://HOST:PORT",
				"this context reaches the broker at %s, which no other machine can", m.Server)
		}
	}
	if err := clusterset(ctx, on, r.Namespace); err != nil {
		return m, err
	}
	if len(m.CA) == 0 {
		var err error
		if m.CA, err = authority(ctx, on, r.Namespace); err != nil {
			return m, err
		}
	}
	for _, account := range []rights.Account{rights.Member(r.Namespace, r.Cluster), rights.Joiner(r.Namespace, r.Cluster)} {
		if err := applyAccount(ctx, on, account); err != nil {
			return m, err
		}
	}
	token, err := requestToken(ctx, on, r.Namespace, names.JoinerAccount(r.Cluster), r.Lifetime)
	if err != nil {
		return m, fmt.Errorf("getting a token: %w", err)
	}
	m.Token = token
	return m, m.Validate()
}

// applyAccount makes a service account and gives it its rights, which go with it.
func applyAccount(ctx context.Context, on *install.Target, account rights.Account) error {
	if err := on.Apply(ctx, install.Objects(account.ServiceAccount)...); err != nil {
		return err
	}
	made := &corev1.ServiceAccount{}
	if err := on.Get(ctx, client.ObjectKeyFromObject(account.ServiceAccount), made); err != nil {
		return fmt.Errorf("reading ServiceAccount %s: %w", account.ServiceAccount.Name, err)
	}
	return on.Apply(ctx, install.Objects(account.Rights(made)...)...)
}

// requestToken returns a new token of a service account.
func requestToken(ctx context.Context, on *install.Target, namespace, account string, lifetime time.Duration) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(lifetime / time.Second)),
	}}
	of := &corev1.ServiceAccount{}
	of.Namespace, of.Name = namespace, account
	if err := on.SubResource("token").Create(ctx, of, request); err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// loopback tells whether a URL is of the machine itself.
func loopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && (a.IsLoopback() || a.IsUnspecified())
}
