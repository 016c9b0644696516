package membership

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/joining"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// forge signs the broker's token again with other times, in seconds from now. Otherwise a test
// would have to wait days for an old or expired token.
func forge(t *testing.T, token string, issued, expires int64) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	noError(t, err)
	claims := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	noError(t, decoder.Decode(&claims))
	at := time.Now().Unix()
	claims["iat"], claims["nbf"], claims["exp"] = at+issued, at+issued, at+expires
	payload, err = json.Marshal(claims)
	noError(t, err)
	text := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	keyPEM, err := os.ReadFile(filepath.Join(theLab.Dir(lab.Broker), "pki", "service-accounts.key"))
	noError(t, err)
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	noError(t, err)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), digest[:]) // ES256, RFC 7518 section 3.4
	noError(t, err)
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// setToken stores another token in a cluster's Secret.
func setToken(t *testing.T, cluster string, secret *corev1.Secret, token string) {
	t.Helper()
	secret.Data[credential.KeyToken] = []byte(token)
	noError(t, on[cluster].Update(t.Context(), secret))
}

// An agent renews its token long before it expires, stores it for the other replicas, and keeps
// its watches. An agent whose token expired while it was stopped keeps its imports, logs
// instructions, and continues with new credentials without a restart.
func TestTokensAreRenewed(t *testing.T) {
	const ns = "rotation"
	joined(t, "c1", "--no-workloads")
	create(t, "c1", namespace(ns), service(ns, "web"), export(ns, "web"), service(ns, "late"))

	// At an age of two days, more than a fifth of the token's life is over, so the agent renews
	// it.
	m, secret := membershipOf(t, "c1")
	old := forge(t, m.Token, -2*24*3600, 5*24*3600)
	setToken(t, "c1", secret, old)
	stop, stopSecond := startAgent(t, asAgent(t, "c1"), t.Output()), startAgent(t, asAgent(t, "c1"), t.Output())
	eventually(t, "the token is renewed", func() error {
		if m, secret = membershipOf(t, "c1"); m.Token == old {
			return errors.New("the Secret still has the old token")
		}
		return nil
	})
	claims, err := credential.ParseToken(m.Token)
	if life := claims.Expires.Sub(claims.Issued); err != nil || life != rights.MaxTokenLifetime {
		t.Errorf("the new token is valid for %v, error %v", life, err)
	}
	expectImport(t, "c1", ns, "web", "c1")
	stopSecond()
	stop()

	// The agent was stopped for longer than the token is valid. Either replica may have renewed
	// it.
	m, secret = membershipOf(t, "c1")
	setToken(t, "c1", secret, forge(t, m.Token, -8*24*3600, -24*3600))
	said := &planes.Log{To: t.Output()}
	startAgent(t, asAgent(t, "c1"), said)
	said.Expect(t, "The broker rejected this cluster's token")
	expectImport(t, "c1", ns, "web", "c1")
	must(t, joinFile(t, "c1", "--replace"), "join - --no-workloads --context c1")
	create(t, "c1", export(ns, "late"))
	expectImport(t, "c1", ns, "late", "c1")
}

// The broker's administrator can limit the lifetime of tokens, also those that a thief of a
// member's credentials requests.
func TestTokenLifetime(t *testing.T) {
	deployBroker(t)
	refused(t, "", "broker deploy --context broker --token-lifetime 30m", "the lifetime of members' tokens must be from 1h0m0s to 168h0m0s")
	must(t, "", "broker deploy --context broker --token-lifetime 24h")
	t.Cleanup(func() {
		noError(t, on[lab.Broker].Patch(context.Background(), namespace(place), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+names.AnnotationTokenLifetime+`":null}}}`))))
	})
	must(t, "", "broker deploy --context broker") // keeps the limit
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	m, _ := membershipOf(t, "c1")
	claims := claimsOf(t, m.Token)
	if life := claims.Expires.Sub(claims.Issued); life != 24*time.Hour {
		t.Errorf("the token is valid for %v", life)
	}
	week := boundTo(claims.Binding)
	week.ExpirationSeconds = ptr.To(int64(rights.MaxTokenLifetime / time.Second))
	eventually(t, "the broker enforces the limit", func() error {
		if err := mintedBy(t, m, "member-c1", week); err == nil || !strings.Contains(err.Error(), "the lifetime of a member's token must not exceed 86400 seconds") {
			return fmt.Errorf("the answer is %v", err)
		}
		return nil
	})
	renewed, err := joining.Token(t.Context(), kubeAs(t, m), m, claims.Binding, rights.MaxTokenLifetime)
	if life := time.Until(renewed.ExpirationTimestamp.Time); err != nil || life < 23*time.Hour || life > 24*time.Hour {
		t.Errorf("the renewed token is valid for %v, error %v", life, err)
	}
	must(t, "", "leave --yes --context c1")
}

// Pitfall 35: after a member was removed, the broker refuses its writes at once. Only the API
// server can end its open watches.
func TestRevocation(t *testing.T) {
	deployBroker(t)
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	m, _ := membershipOf(t, "c1")
	as := asMember(t, m)
	lease := objects.Lease("c1")
	noError(t, as.Create(t.Context(), lease))
	open, err := as.Watch(t.Context(), &brokerv1alpha1.MemberClusterList{}, client.InNamespace(m.Clusterset))
	noError(t, err)
	defer open.Stop()
	if plan := must(t, "", "broker members remove c1 --yes --context broker --dry-run"); !strings.Contains(plan, "delete RoleBinding atoll-clusterset/member-c1\n") ||
		!strings.Contains(plan, "delete Lease atoll-clusterset/c1\n") {
		t.Errorf("remove --dry-run printed\n%s", plan)
	}
	ends(t, 64, "", "broker members remove c1 --context broker", "add --yes")
	refused(t, "", "broker members remove c9 --yes --context broker", "has no cluster c9", "atoll broker members list")
	lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
	noError(t, as.Update(t.Context(), lease))
	refused(t, "", "broker members remove c1 --yes --context broker", "cluster c1 seems to be alive", "atoll leave", "--force")

	revoked := time.Now()
	removed := make(chan planes.Result, 1)
	go func() { removed <- atoll("", "broker members remove c1 --yes --context broker --force") }()
	eventually(t, "writes are refused", func() error {
		err := as.Create(t.Context(), objects.Lease("c1"))
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return nil
		}
		return fmt.Errorf("the answer is %v", err)
	})
	t.Logf("writes were refused %v after the command was started", time.Since(revoked).Round(time.Millisecond))
	if r := <-removed; r.Status != 0 {
		t.Fatal(r.Stderr)
	}
	// The API server checks permissions only at the start of a watch
	// (docs/explanation/security.md): it refuses a new watch, and the open watch still delivers
	// events.
	another, err := as.Watch(t.Context(), &brokerv1alpha1.MemberClusterList{}, client.InNamespace(m.Clusterset))
	if err == nil {
		another.Stop()
	}
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		t.Errorf("a new watch: %v", err)
	}
	create(t, lab.Broker, objects.Member("c9"))
	expectAdded(t, open, "c9")
	must(t, "", "leave --yes --offline --context c1")
}

// expectAdded waits until an open watch delivers a new object.
func expectAdded(t *testing.T, open watch.Interface, name string) {
	t.Helper()
	deadline := time.After(planes.Patience)
	for {
		select {
		case event, ok := <-open.ResultChan():
			if !ok {
				t.Fatalf("the API server closed the watch before it delivered %s", name)
			}
			if event.Type == watch.Error {
				t.Fatalf("the watch failed before it delivered %s: %v", name, apierrors.FromObject(event.Object))
			}
			if event.Type == watch.Added && event.Object.(client.Object).GetName() == name {
				return
			}
		case <-deadline:
			t.Fatalf("the open watch does not deliver %s", name)
		}
	}
}
