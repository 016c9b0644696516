package hub

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/servingcert"
)

// noServices is an API server without Services that counts how often it is asked for one.
type noServices struct {
	client.Reader
	reads atomic.Int32
}

func (n *noServices) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	n.reads.Add(1)
	return apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, key.Name)
}

const secretPath = "atoll-secret"

// serving is a webhook that serves on loopback, and its URL without a path.
func serving(t *testing.T) (services *noServices, address, url string) {
	t.Helper()
	services = &noServices{}
	w := &webhook{services: services, log: slog.New(slog.DiscardHandler)}
	pair, err := servingcert.New("127.0.0.1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.load(&corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key, "path": []byte(secretPath)}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := w.server()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return services, listener.Addr().String(), "https://" + listener.Addr().String()
}

// insecure believes any certificate, as an attacker does.
var insecure = &tls.Config{InsecureSkipVerify: true}

// question is what the API server asks about a MultiClusterService that somebody creates.
func question(t *testing.T) []byte {
	t.Helper()
	mcs, err := json.Marshal(&networkingv1alpha1.MultiClusterService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       networkingv1alpha1.MultiClusterServiceSpec{Types: []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeCrossCluster}},
	})
	if err != nil {
		t.Fatal(err)
	}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "u", Namespace: "shop", Name: "web", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: mcs}},
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// ask asks by a connection of its own.
func ask(ctx context.Context, url string, body []byte) (status int, answer string, err error) {
	transport := &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// expectAnswer asks as the API server does.
func expectAnswer(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // as long as the API server waits
	defer cancel()
	status, answer, err := ask(ctx, url+"/"+secretPath, question(t))
	if err != nil || status != http.StatusOK || !strings.Contains(answer, "there is no Service web in namespace shop") {
		t.Fatalf("the answer is %d %s, %v", status, answer, err)
	}
}

// Who does not know the path learns nothing, and costs the API server nothing.
func TestWebhookAnswersTheAPIServerAlone(t *testing.T) {
	services, _, url := serving(t)
	for _, path := range []string{"", "/", "/atoll-", "/atoll-secre", "/atoll-secret2", "/" + secretPath + "/x"} {
		status, answer, err := ask(t.Context(), url+path, question(t))
		if err != nil || status != http.StatusNotFound || strings.Contains(answer, "Service") {
			t.Errorf("%q: the answer is %d %s, %v", path, status, answer, err)
		}
	}
	if n := services.reads.Load(); n != 0 {
		t.Errorf("%d Services were read", n)
	}
	expectAnswer(t, url)
	reads := services.reads.Load()
	long := append(bytes.Repeat([]byte(" "), maxBody), question(t)...)
	if _, answer, err := ask(t.Context(), url+"/"+secretPath, long); err == nil && strings.Contains(answer, "no Service") || services.reads.Load() != reads {
		t.Errorf("a question that is too long is answered: %s", answer)
	}
}

// Nobody keeps the API server out by holding connections open, whatever has been said on them: the oldest of them goes for a
// new one.
func TestWebhookAnswersDespiteSlowCallers(t *testing.T) {
	_, address, url := serving(t)
	keep := func(conn net.Conn, err error) net.Conn {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	var first net.Conn
	for i := range 3 * maxUnauthenticated {
		conn := keep(net.Dial("tcp", address))
		if first == nil {
			first = conn
		}
		switch i % 3 {
		case 0: // says nothing
		case 1:
			_, _ = conn.Write([]byte{22, 3, 1, 2, 0}) // the beginning of a TLS handshake
		case 2:
			secure := tls.Client(conn, insecure)
			if err := secure.HandshakeContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(secure, "POST /%d HTTP/1.1\r\nHost: hub\r\nContent-Length: 1000000\r\nX-Slow: ", i)
		}
		if i%100 == 0 {
			expectAnswer(t, url)
		}
	}
	expectAnswer(t, url)
	if err := first.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the oldest connection is still there: %v", err)
	}
}

// A connection that the API server has asked by stays, whoever else comes.
func TestWebhookKeepsTheConnectionsOfTheAPIServer(t *testing.T) {
	_, address, url := serving(t)
	var dialled atomic.Int32
	transport := &http.Transport{TLSClientConfig: insecure, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	again := func() {
		t.Helper()
		resp, err := (&http.Client{Transport: transport}).Post(url+"/"+secretPath, "application/json", bytes.NewReader(question(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("the answer is %d, %v", resp.StatusCode, err)
		}
	}
	again()
	for range 2 * maxUnauthenticated {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	expectAnswer(t, url) // by when the server has seen the others
	again()
	if n := dialled.Load(); n != 1 {
		t.Errorf("it took %d connections", n)
	}
}
