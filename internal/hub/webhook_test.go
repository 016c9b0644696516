package hub

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/hub/servingcert"
)

// pipes is a network of one address, in memory, so that time in a bubble passes.
type pipes struct {
	dialled  chan net.Conn
	accepted atomic.Int32
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialled:
		p.accepted.Add(1)
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns a connection that the server has yet to accept.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialled <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serving runs a webhook until the test ends.
func serving(t *testing.T) *pipes {
	t.Helper()
	w := &webhook{log: slog.New(slog.DiscardHandler)}
	pair, err := servingcert.New("hub.test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.load(&corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}})
	p := &pipes{dialled: make(chan net.Conn, 2*maxConnections), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background()) // the test's ends before the clean-up begins
	ended := make(chan error)
	go func() { ended <- w.serve(ctx, p) }()
	t.Cleanup(func() {
		// Of the bubble. Both ends of a connection may be saying that it ends, to nobody, until they give up. While they do, the server must not begin to
		// end: it would wait for them with a mutex that they need, and time in a bubble stands still where somebody waits for a mutex.
		<-time.After(time.Hour)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the webhook ends with %v", err)
		}
	})
	return p
}

var insecure = &tls.Config{InsecureSkipVerify: true}

// review is the request that the API server sends about a MultiClusterService.
func review(t *testing.T, mcs *networkingv1alpha1.MultiClusterService) []byte {
	t.Helper()
	object, err := json.Marshal(mcs)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "u", Namespace: "shop", Name: "web", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: object}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// exposing is a MultiClusterService of the types.
func exposing(types ...networkingv1alpha1.ExposureType) *networkingv1alpha1.MultiClusterService {
	return &networkingv1alpha1.MultiClusterService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: networkingv1alpha1.MultiClusterServiceSpec{Types: types},
	}
}

// answer sends a request on a connection of its own.
func (p *pipes) answer(t *testing.T, body []byte) (allowed bool, message string, err error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: insecure, DialContext: p.dial, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Post("https://hub.test/", "application/json", bytes.NewReader(body))
	if err != nil {
		return false, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, "", err
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(text, review); err != nil || review.Response == nil {
		return false, string(text), errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))
	}
	if result := review.Response.Result; result != nil {
		message = result.Message
	}
	return review.Response.Allowed, message, nil
}

// The webhook needs nothing but the request, and refuses one that is too long.
func TestWebhookDecidesFromTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serving(t)
		deleted := exposing("LoadBalance")
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		good := review(t, exposing(networkingv1alpha1.ExposureTypeCrossCluster))
		for name, tt := range map[string]struct {
			body    []byte
			allowed bool
			message string
		}{
			"right":          {good, true, ""},
			"wrong":          {review(t, exposing("LoadBalance")), false, "the type is called LoadBalancer"},
			"being deleted":  {review(t, deleted), true, ""},
			"of any length":  {append(bytes.Repeat([]byte(" "), maxBody-len(good)), good...), true, ""},
			"one byte more":  {append(bytes.Repeat([]byte(" "), maxBody-len(good)+1), good...), false, "too large"},
			"something else": {[]byte("{}"), false, "unexpected end of JSON input"},
		} {
			allowed, message, err := p.answer(t, tt.body)
			if err != nil || allowed != tt.allowed || !strings.Contains(message, tt.message) {
				t.Errorf("%s: %t %q, %v", name, allowed, message, err)
			}
		}
	})
}

// The number of connections is bounded, and none keeps others out for longer than the timeouts, whatever has been sent on it.
func TestWebhookOutlastsSlowCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serving(t)
		for i := range maxConnections + 3 {
			conn, err := p.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				switch i % 3 {
				case 0: // sends nothing
				case 1:
					_, _ = conn.Write([]byte{22, 3, 1, 2, 0}) // the beginning of a TLS handshake
				case 2:
					secure := tls.Client(conn, insecure)
					_, _ = fmt.Fprintf(secure, "POST /%d HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{", i)
				}
			}()
		}
		synctest.Wait()
		if n := p.accepted.Load(); n != maxConnections {
			t.Errorf("%d connections are open, want %d", n, maxConnections)
		}
		began := time.Now()
		if allowed, message, err := p.answer(t, review(t, exposing(networkingv1alpha1.ExposureTypeCrossCluster))); err != nil || !allowed {
			t.Errorf("the answer is %t %q, %v", allowed, message, err)
		}
		if took := time.Since(began); took > requestTimeout {
			t.Errorf("the answer took %v", took)
		}
	})
}
