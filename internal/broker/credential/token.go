package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Claims are a service account token's claims. They are not verified: the API server does that.
type Claims struct {
	// Subject is the user, system:serviceaccount:NAMESPACE:NAME.
	Subject string
	// AccountUID is the UID of the user's ServiceAccount.
	AccountUID string
	// Binding is the Secret that the token is bound to, or the zero value.
	Binding Binding
	// Issued and Expires are by the broker's clock.
	Issued, Expires time.Time
}

// Binding is a Secret on the broker that tokens are bound to. They become invalid when it is deleted. The API server
// issues tokens for it only to callers that know its UID.
type Binding struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// ParseToken reads a token (a JSON Web Token, RFC 7519) without verifying it.
func ParseToken(token string) (Claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Claims{}, errors.New("a ServiceAccount token must have three parts")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Claims{}, fmt.Errorf("reading the token's claims: %w", err)
	}
	var raw struct {
		Subject string `json:"sub"`
		Issued  int64  `json:"iat"` // in seconds since 1970
		Expires int64  `json:"exp"`
		// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#schema-for-service-account-private-claims
		Kubernetes struct {
			Account Binding `json:"serviceaccount"`
			Secret  Binding `json:"secret"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		return Claims{}, fmt.Errorf("reading the token's claims: %w", err)
	}
	if raw.Subject == "" || raw.Expires <= raw.Issued {
		return Claims{}, errors.New("the token has no subject, or its lifetime is not valid")
	}
	return Claims{
		Subject: raw.Subject, AccountUID: raw.Kubernetes.Account.UID, Binding: raw.Kubernetes.Secret,
		Issued: time.Unix(raw.Issued, 0), Expires: time.Unix(raw.Expires, 0),
	}, nil
}

// MayAct reports whether the token belongs to the member or its joiner.
func (c Claims) MayAct(cluster names.ClusterID, clusterset string) bool {
	return c.Subject == subject(clusterset, names.MemberAccount(cluster)) || c.IsJoiner(cluster, clusterset)
}

// IsJoiner reports whether the token is a join file's.
func (c Claims) IsJoiner(cluster names.ClusterID, clusterset string) bool {
	return c.Subject == subject(clusterset, names.JoinerAccount(cluster))
}

// WhyRefused says why the broker refuses the token, as far as the claims show.
func (c Claims) WhyRefused(now time.Time) string {
	if now.After(c.Expires) {
		return fmt.Sprintf("the token expired %s ago", now.Sub(c.Expires).Round(time.Second))
	}
	return "the join file was already used, was revoked, or was replaced by a newer join file"
}

func subject(namespace, account string) string {
	return "system:serviceaccount:" + namespace + ":" + account
}

// lifeParts is the divisor for the part of a token's life after which it is renewed. The remaining life is how long a
// member can be off without a new join. Tokens are therefore renewed early, unlike a kubelet's.
const lifeParts = 5

// RenewAfter is the token's age at which to replace it.
func (c Claims) RenewAfter() time.Duration { return c.Expires.Sub(c.Issued) / lifeParts }

// RenewIn is the time until a token that was just read must be replaced; zero or less means now. It is at most
// RenewAfter, because the broker's clock may differ.
func (c Claims) RenewIn(now time.Time) time.Duration {
	return min(c.RenewAfter(), c.Issued.Add(c.RenewAfter()).Sub(now))
}
