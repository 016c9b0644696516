package setup

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/joining"
)

var now = time.Unix(1_800_000_000, 0)

// tokenOf returns an unsigned token of an account.
func tokenOf(account string, expires time.Time) string {
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return encode("{}") + "." + encode(fmt.Sprintf(`{"sub":"system:serviceaccount:set:%s","iat":1,"exp":%d}`, account, expires.Unix())) + ".x"
}

func TestExplainAnswers(t *testing.T) {
	as := func(account string, expires time.Duration) credential.Membership {
		return credential.Membership{ClusterID: "c1", Clusterset: "set", Server: "https://b", Token: tokenOf(account, now.Add(expires))}
	}
	const fresh = "\nCreate a new join file, then join with that file: atoll broker token create c1 --clusterset set --output c1.join --context CONTEXT_OF_BROKER"
	for name, c := range map[string]struct {
		err  error
		as   credential.Membership
		want string
	}{
		"expired": {apierrors.NewUnauthorized("no"), as("join-c1", -90*time.Minute), "the broker at https://b does not accept the token: the token expired 1h30m0s ago" + fresh},
		"used":    {apierrors.NewUnauthorized("no"), as("join-c1", time.Hour), "the join file was already used, was revoked, or was replaced by a newer join file" + fresh},
		"revoked": {apierrors.NewUnauthorized("no"), as("member-c1", time.Hour), "the token was revoked, or a later join has replaced the token" + fresh},
		"rights are gone": {apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "member-c1", errors.New("RBAC")), as("join-c1", time.Hour),
			"the join file was already used, was revoked, or was replaced by a newer join file" + fresh},
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "member-c1", errors.New("RBAC")), as("member-c1", time.Hour),
			"refuses cluster c1 in clusterset set"},
		"already used": {apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, "member-c1-x"), as("join-c1", time.Hour),
			"was used already, but this cluster has no record of using it\nIf an earlier attempt to join this cluster was interrupted, create a new join file. Otherwise another cluster has joined as c1." +
				" Remove that cluster first, which ends its exports in all clusters: atoll broker members remove c1 --clusterset set --force --context CONTEXT_OF_BROKER."},
		"the response was lost": {&joining.NoResponseError{Err: context.DeadlineExceeded}, as("join-c1", time.Hour), "the join file may already have been used"},
		"late":                  {context.DeadlineExceeded, as("join-c1", time.Hour), "cannot be reached from this machine"},
		"other":                 {errors.New("boom"), as("join-c1", time.Hour), "connecting to the broker at https://b: boom"},
	} {
		if got := explain(c.err, c.as, now); got == nil || !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
	if err := explain(nil, as("join-c1", time.Hour), now); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// explain recognizes real connection errors through all layers of wrapping.
func TestExplainConnections(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // discard the log of failed handshakes
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		server string
		ca     []byte
		want   string
	}{
		"another authority":   {server.URL, nil, "is not the broker of the join file"},
		"another host name":   {"https://localhost:" + port, ca, "has a certificate for different hostnames"},
		"nothing listens":     {"https://127.0.0.1:1", ca, "cannot be reached from this machine"},
		"no such host":        {"https://broker.invalid", ca, "cannot be reached from this machine"},
		"not an API server":   {server.URL, ca, "refuses cluster c1"},
		"not a server of TLS": {strings.Replace(plain(t).URL, "http:", "https:", 1), ca, "connecting to the broker"},
	} {
		m := credential.Membership{ClusterID: "c1", Clusterset: "set", Server: c.server, CA: c.ca, Token: tokenOf("join-c1", now)}
		on, err := connect(m, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = on.Get(t.Context(), client.ObjectKey{Namespace: "set", Name: "x"}, &corev1.ConfigMap{})
		if got := explain(err, m, now); got == nil || !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

func plain(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server
}

func TestLoopback(t *testing.T) {
	for server, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://localhost": true, "https://[::1]:6443": true, "https://0.0.0.0:6443": true,
		"https://10.0.0.1:6443": false, "https://broker.example": false, "https://localhost.example": false, "://": false,
	} {
		if got := loopback(server); got != want {
			t.Errorf("%s: %v", server, got)
		}
	}
}
