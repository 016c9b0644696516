package console

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/console"
)

// viewers serves c1's pages as atoll-console does. The API server knows the tokens good and other.
func (w *world) viewers() (*console.Viewers, *httptest.Server) {
	config := w.members[0].api.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			answer := httptest.NewRecorder()
			answer.Header().Set("Content-Type", "application/json")
			switch token := r.Header.Get("Authorization"); {
			case token != "Bearer good" && token != "Bearer other":
				answer.WriteHeader(http.StatusUnauthorized)
				_ = json.NewEncoder(answer).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Code: http.StatusUnauthorized, Reason: metav1.StatusReasonUnauthorized, Message: "Unauthorized"})
			case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
				answer.WriteHeader(http.StatusCreated)
				_ = json.NewEncoder(answer).Encode(authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"}})
			default:
				return next.RoundTrip(r)
			}
			return answer.Result(), nil
		})
	})
	v := &console.Viewers{Cluster: config, Hosts: []string{"atoll.example.com"}}
	server := httptest.NewServer(v.Handler(w.t.Context()))
	w.t.Cleanup(server.Close)
	return v, server
}

// send sends a request for the host. Headers are NAME: VALUE.
func send(t *testing.T, server *httptest.Server, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "atoll.example.com"
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// TestViewerNeedsToken: only somebody whose token the API server knows sees anything.
func TestViewerNeedsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.create(w.members[0], serviceImport("shop", "web", ""))
	_, server := w.viewers()
	form := func(token string) string { return url.Values{"token": {token}}.Encode() }
	for _, headers := range [][]string{nil, {"Authorization: Bearer bad"}, {"Authorization: Bearer "}, {"Authorization: Basic good"}, {"Cookie: __Host-atoll-console=good"}} {
		for _, path := range []string{"/", "/app.js", "/api/live", "/api/status?cluster=c1", "/api/events?cluster=c1"} {
			if got := send(t, server, "GET", path, "", headers...); got.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: %s", path, headers, got.Status)
			}
		}
	}
	for _, token := range []string{"", "bad"} {
		if got := send(t, server, "POST", "/login", form(token)); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
			t.Errorf("login with %q: %s", token, got.Status)
		}
	}
	login := send(t, server, "POST", "/login", form(" good\n"))
	if c := login.Cookies(); login.StatusCode != http.StatusSeeOther || len(c) != 1 || !c[0].HttpOnly || !c[0].Secure || c[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("login: %s %v", login.Status, login.Cookies())
	}
	cookie := "Cookie: " + login.Cookies()[0].Name + "=" + login.Cookies()[0].Value
	for _, headers := range [][]string{{cookie}, {"Authorization: Bearer other"}} {
		if got := send(t, server, "GET", "/", "", headers...); got.StatusCode != http.StatusOK {
			t.Errorf("%q: %s", headers, got.Status)
		}
		if got := firstWith(t, send(t, server, "GET", "/api/live", "", headers...), "shop/web"); !got {
			t.Errorf("%q does not see the service", headers)
		}
	}
	for _, headers := range [][]string{{"Host: evil.example"}, {"Origin: https://evil.example"}, {"Sec-Fetch-Site: cross-site"}} {
		if got := send(t, server, "GET", "/api/live", "", append(headers, cookie)...); got.StatusCode != http.StatusMisdirectedRequest && got.StatusCode != http.StatusForbidden {
			t.Errorf("%q: %s", headers, got.Status)
		}
	}
	if got := send(t, server, "POST", "/login", form("good"), "Origin: https://evil.example"); got.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %s", got.Status)
	}
	text, _ := io.ReadAll(send(t, server, "POST", "/login", form("<b>bad</b>")).Body)
	if strings.Contains(string(text), "<b>") {
		t.Errorf("the page has what was given: %s", text)
	}
	if got := send(t, server, "GET", "/healthz", "", "Host: 10.1.2.3:8080"); got.StatusCode != http.StatusOK {
		t.Errorf("the kubelet's probe: %s", got.Status)
	}
}

// firstWith reports whether a stream has a text before it is closed.
func firstWith(t *testing.T, stream *http.Response, text string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = stream.Body.Close() })
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}
