package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/console"
)

// door checks tokens for c1's API server. Tokens are USER, or USER-N for others of the same user.
type door struct {
	next http.RoundTripper
	mu   sync.Mutex
	// unknown are users whom the API server does not know, and limited those who may read no EndpointSlices.
	unknown, limited map[string]bool
}

func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	user, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "-")
	unknown, limited := d.unknown[user] || user == "", d.limited[user]
	d.mu.Unlock()
	switch {
	case unknown:
		return refuse(apierrors.NewUnauthorized("Unauthorized")), nil
	case limited && strings.HasSuffix(r.URL.Path, "/endpointslices"):
		return refuse(apierrors.NewForbidden(discoveryv1.Resource("endpointslices"), "", errors.New("not yours"))), nil
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		answer := httptest.NewRecorder()
		answer.Header().Set("Content-Type", "application/json")
		answer.WriteHeader(http.StatusCreated)
		review := authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"}}
		review.Status.UserInfo.Username = user
		_ = json.NewEncoder(answer).Encode(review)
		return answer.Result(), nil
	}
	return d.next.RoundTrip(r)
}

// viewers serves c1's pages as atoll-console does.
func (w *world) viewers(life context.Context) (*door, http.Handler) {
	d := &door{unknown: map[string]bool{"bad": true, "<b>bad</b>": true}, limited: map[string]bool{}}
	config := w.members[0].api.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.next = next
		return d
	})
	config.Wrap(w.members[0].RoundTrip)
	v := &console.Viewers{Cluster: config, Hosts: []string{"atoll.example.com"}}
	return d, v.Handler(life)
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
	w.create(w.members[0], slice("shop", "web", "c1", 1, 0))
	d, handler := w.viewers(t.Context())
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	form := func(token string) string { return url.Values{"token": {token}}.Encode() }
	for _, headers := range [][]string{nil, {"Authorization: Bearer bad"}, {"Authorization: Bearer "}, {"Authorization: Basic good"}, {"Cookie: __Host-atoll-console=good"}} {
		for _, path := range []string{"/", "/app.js", "/api/live", "/api/status?cluster=c1", "/api/events?cluster=c1"} {
			if got := send(t, server, "GET", path, "", headers...); got.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: %s", path, headers, got.Status)
			}
		}
	}
	for _, token := range []string{"", "bad"} {
		if got := send(t, server, "POST", "/login", form(token)); got.StatusCode != http.StatusUnauthorized || len(got.Cookies()) > 0 {
			t.Errorf("login with %q: %s", token, got.Status)
		}
	}
	// As Chromium sends it: with Referrer-Policy no-referrer, its Origin would be null, which other sites can also send.
	login := send(t, server, "POST", "/login", form(" good\n"), "Origin: https://atoll.example.com", "Sec-Fetch-Site: same-origin")
	if got := login.Header.Get("Referrer-Policy"); got != "same-origin" {
		t.Errorf("Referrer-Policy is %s", got)
	}
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
	d.mu.Lock()
	d.limited["limited"] = true
	d.mu.Unlock()
	if got := firstWith(t, send(t, server, "GET", "/api/live", "", "Authorization: Bearer limited"), `"u":true`); !got {
		t.Error("a viewer who may not read endpoints sees some")
	}
	if got := firstWith(t, send(t, server, "GET", "/api/live", "", cookie), `"r":1`); !got {
		t.Error("a viewer who may read endpoints sees none")
	}
	for _, headers := range [][]string{{"Host: evil.example"}, {"Origin: https://evil.example"}, {"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}} {
		if got := send(t, server, "GET", "/api/live", "", append(headers, cookie)...); got.StatusCode != http.StatusMisdirectedRequest && got.StatusCode != http.StatusForbidden {
			t.Errorf("%q: %s", headers, got.Status)
		}
	}
	if got := send(t, server, "POST", "/login", form("good"), "Origin: https://evil.example"); got.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %s", got.Status)
	}
	if got := send(t, server, "POST", "/login", form("good"), "Origin: null", "Sec-Fetch-Site: cross-site"); got.StatusCode != http.StatusForbidden {
		t.Errorf("a form of a sandboxed frame: %s", got.Status)
	}
	w.members[0].gone.Store(true)
	if got := send(t, server, "GET", "/api/status", "", "Authorization: bearer new"); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the API server is away: %s", got.Status)
	}
	w.members[0].gone.Store(false)
	text, _ := io.ReadAll(send(t, server, "POST", "/login", form("<b>bad</b>")).Body)
	if strings.Contains(string(text), "<b>") {
		t.Errorf("the page has what was given: %s", text)
	}
	if got := send(t, server, "GET", "/healthz", "", "Host: 10.1.2.3:8080"); got.StatusCode != http.StatusOK {
		t.Errorf("the kubelet's probe: %s", got.Status)
	}
}

// TestSessionsEnd: sessions end when nobody has looked for long, when the API server no longer knows the token, and when there are too many.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		d, handler := newWorld(t, 1).viewers(life)
		get := func(ctx context.Context, path, header string) int {
			r := httptest.NewRequestWithContext(ctx, "GET", "http://atoll.example.com"+path, nil)
			name, value, _ := strings.Cut(header, ": ")
			r.Header.Set(name, value)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		login := func(token string) string {
			r := httptest.NewRequestWithContext(life, "POST", "http://atoll.example.com/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusSeeOther {
				t.Fatalf("login: %d %s", w.Code, w.Body)
			}
			return "Cookie: " + w.Result().Cookies()[0].Name + "=" + w.Result().Cookies()[0].Value
		}
		expect := func(what, cookie string, want int) {
			t.Helper()
			if got := get(life, "/", cookie); got != want {
				t.Errorf("%s: %d, want %d", what, got, want)
			}
		}
		after := func(d time.Duration) { <-time.After(d) }

		idle, watched, revoked := login("idle"), login("watched"), login("revoked")
		stream, closed := context.WithCancel(life)
		go get(stream, "/api/live", watched)
		d.mu.Lock()
		d.unknown["revoked"] = true
		d.mu.Unlock()
		after(2 * time.Minute)
		expect("a token that is no longer known", revoked, http.StatusUnauthorized)
		expect("a session", idle, http.StatusOK)
		after(11 * time.Minute)
		expect("nobody has looked", idle, http.StatusUnauthorized)
		closed()
		after(9 * time.Minute)
		expect("a page was open until 9 minutes ago", watched, http.StatusOK)

		first := login("anna-1")
		for n := range 3 {
			after(time.Second)
			login(fmt.Sprintf("anna-%d", n+2))
		}
		expect("a user's oldest session", first, http.StatusUnauthorized)
		last := login("anna-4")
		for range 11 {
			login("anna-4")
		}
		expect("the oldest cookie of a session", last, http.StatusUnauthorized)
		refused := 0
		for n := range 40 {
			if get(life, "/", fmt.Sprintf("Authorization: Bearer user%d", n)) == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused != 14 { // 30, less that of watched and three of anna's
			t.Errorf("%d of 40 users were refused", refused)
		}
		for n := range 31 {
			go get(life, "/api/live", watched)
			if synctest.Wait(); n == 30 && get(life, "/api/live", watched) != http.StatusTooManyRequests {
				t.Error("there is no limit of pages")
			}
		}
	})
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
