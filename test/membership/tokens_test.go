package membership

import (
	"bytes"
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
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/credential"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
)

// forge signs a token of the broker's anew, with other times, in seconds from now: tokens
// that are old or have expired, for which a test would have to wait for days.
func forge(t *testing.T, token string, issued, expires int64) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	if err := decoder.Decode(&claims); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Unix()
	claims["iat"], claims["nbf"], claims["exp"] = at+issued, at+issued, at+expires
	if payload, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	text := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	keyPEM, err := os.ReadFile(filepath.Join(theLab.Dir(lab.Broker), "pki", "service-accounts.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), digest[:]) // ES256, RFC 7518 section 3.4
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// asMember is the broker as a member reaches it.
func asMember(t *testing.T, m credential.Membership) client.WithWatch {
	t.Helper()
	c, err := broker.Connect(broker.NewToken(m.Token, nil).Config(m), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func expectForbidden(t *testing.T, what string, err error) {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Errorf("%s: %v", what, err)
	}
}

// setToken puts another token into a cluster's Secret.
func setToken(t *testing.T, cluster string, secret *corev1.Secret, token string) {
	t.Helper()
	secret.Data[credential.KeyToken] = []byte(token)
	if err := on[cluster].Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// log is what an agent says, for tests that wait for it.
type log struct {
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.text.Write(p)
	l.mu.Unlock()
	return l.t.Output().Write(p)
}

func (l *log) expect(words string) {
	l.t.Helper()
	eventually(l.t, "the agent says "+words, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !strings.Contains(l.text.String(), words) {
			return errors.New("it does not")
		}
		return nil
	})
}

// An agent renews its token long before it expires, stores it for the other replicas, and
// goes on with its watches meanwhile. One whose token has expired while it was off keeps what
// it has, says what to do, and goes on with new credentials without being started again.
func TestTokensAreRenewed(t *testing.T) {
	const ns = "rotation"
	must(t, "", "broker deploy --context broker")
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	create(t, "c1", namespace(ns), service(ns, "web"), export(ns, "web"), service(ns, "late"))

	// Two days old: a seventh of its life is gone, and more than the fifth.
	m, secret := membershipOf(t, "c1")
	old := forge(t, m.Token, -2*24*3600, 5*24*3600)
	setToken(t, "c1", secret, old)
	stop, stopSecond := startAgent(t, asAgent(t, "c1"), t.Output()), startAgent(t, asAgent(t, "c1"), t.Output())
	eventually(t, "the token is renewed", func() error {
		if m, secret = membershipOf(t, "c1"); m.Token == old {
			return errors.New("it is the old one")
		}
		return nil
	})
	claims, err := credential.ParseToken(m.Token)
	if life := claims.Expires.Sub(claims.Issued); err != nil || life != rights.MaxTokenLifetime {
		t.Errorf("the new one lives for %v, %v", life, err)
	}
	expectImport(t, "c1", ns, "web", "c1")
	stopSecond()
	stop()

	// Off for longer than the token lives.
	setToken(t, "c1", secret, forge(t, m.Token, -8*24*3600, -24*3600))
	said := &log{t: t}
	stop = startAgent(t, asAgent(t, "c1"), said)
	said.expect("the broker does not accept this cluster's token")
	expectImport(t, "c1", ns, "web", "c1")
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	create(t, "c1", export(ns, "late"))
	expectImport(t, "c1", ns, "late", "c1")
	stop()
	must(t, "", "leave --context c1")
}

// Pitfall 35: after a member is removed its writes are refused at once. Watches that it has
// open are the broker's to end.
func TestRevocation(t *testing.T) {
	must(t, "", "broker deploy --context broker")
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	m, _ := membershipOf(t, "c1")
	as := asMember(t, m)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Clusterset, Name: "c1", Labels: map[string]string{names.LabelSourceCluster: "c1"},
	}}
	if err := as.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	open, err := as.Watch(t.Context(), &brokerv1alpha1.MemberClusterList{}, client.InNamespace(m.Clusterset))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Stop()
	if plan := must(t, "", "broker remove c1 --context broker --dry-run"); !strings.Contains(plan, "delete RoleBinding atoll-clusterset/member-c1\n") ||
		!strings.Contains(plan, "delete Lease atoll-clusterset/c1\n") {
		t.Errorf("remove --dry-run printed\n%s", plan)
	}
	lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
	if err := as.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	refused(t, "", "broker remove c1 --context broker", "cluster c1 seems to be alive", "atoll leave", "--force")

	revoked := time.Now()
	removed := make(chan result, 1)
	go func() { removed <- atoll("", "broker remove c1 --context broker --force") }()
	eventually(t, "writes are refused", func() error {
		err := as.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Clusterset, Name: "c1", Labels: map[string]string{names.LabelSourceCluster: "c1"},
		}})
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return nil
		}
		return fmt.Errorf("the answer is %v", err)
	})
	t.Logf("writes were refused %v after the command was started", time.Since(revoked).Round(time.Millisecond))
	if r := <-removed; r.status != 0 {
		t.Fatal(r.stderr)
	}
	create(t, lab.Broker, &brokerv1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Clusterset, Name: "c9"},
		Spec:       brokerv1alpha1.MemberClusterSpec{ClusterID: "c9", ClusterUID: "x", AdvertiseMode: brokerv1alpha1.AdvertisePods},
	})
	for event := range open.ResultChan() {
		if event.Type == watch.Added && event.Object.(client.Object).GetName() == "c9" {
			break // as documented
		}
	}
	must(t, "", "leave --offline --context c1")
}
