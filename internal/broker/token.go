package broker

import (
	"net/http"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
)

// Token is a bearer token that can be replaced while clients use it. Connections and watches continue; the next request
// carries the new token.
type Token struct {
	value   atomic.Pointer[string]
	refused func(token string)
}

// NewToken returns a token. refused is called when the broker rejects a token, in the request's goroutine.
func NewToken(value string, refused func(token string)) *Token {
	t := &Token{refused: refused}
	t.Set(value)
	return t
}

// Set replaces the token.
func (t *Token) Set(value string) { t.value.Store(&value) }

// Config returns a client configuration that authenticates with this token.
func (t *Token) Config(m credential.Membership) *rest.Config {
	return &rest.Config{
		Host:            m.Server,
		TLSClientConfig: rest.TLSClientConfig{CAData: m.CA},
		WrapTransport:   func(base http.RoundTripper) http.RoundTripper { return &bearer{token: t, base: base} },
	}
}

type bearer struct {
	token *Token
	base  http.RoundTripper
}

var _ utilnet.RoundTripperWrapper = (*bearer)(nil)

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	token := *b.token.value.Load()
	request = request.Clone(request.Context()) // the caller owns the original
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := b.base.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized && b.token.refused != nil {
		b.token.refused(token)
	}
	return response, err
}

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.base }
