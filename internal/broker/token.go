package broker

import (
	"net/http"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
)

// Token is a bearer token that can be replaced while clients use it. Their connections
// stay, and what is asked for over them next bears the new one: there is nothing to connect
// anew, and no watch ends.
type Token struct {
	value   atomic.Pointer[string]
	refused func(token string)
}

// NewToken returns a token. The function refused is called whenever the broker does not
// accept the one that was sent, in whatever goroutine has sent it.
func NewToken(value string, refused func(token string)) *Token {
	t := &Token{refused: refused}
	t.Set(value)
	return t
}

// Set replaces the token.
func (t *Token) Set(value string) { t.value.Store(&value) }

// Config returns the configuration of a client that proves with this token that it is a
// member, or about to be.
func (t *Token) Config(m credential.Membership) *rest.Config {
	return &rest.Config{
		Host:            m.Server,
		TLSClientConfig: rest.TLSClientConfig{CAData: m.CA},
		WrapTransport:   func(base http.RoundTripper) http.RoundTripper { return &bearer{token: t, base: base} },
	}
}

// bearer adds the token to each request.
type bearer struct {
	token *Token
	base  http.RoundTripper
}

var _ utilnet.RoundTripperWrapper = (*bearer)(nil)

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	token := *b.token.value.Load()
	request = request.Clone(request.Context()) // it is the caller's
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := b.base.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized && b.token.refused != nil {
		b.token.refused(token)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.base }
