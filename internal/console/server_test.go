package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newTestServer returns a server for 127.0.0.1:7777 of a console without clusters.
func newTestServer(t *testing.T) *Server {
	c, err := New(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return NewServer(c, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7777})
}

// ask sends a request to the server. Headers are NAME: VALUE.
func ask(t *testing.T, s *Server, method, url string, headers ...string) *http.Response {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // streams end after the first event
	r := httptest.NewRequestWithContext(ctx, method, url, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Result()
}

const here = "http://127.0.0.1:7777"

// login uses the token, and returns the cookie as a header.
func login(t *testing.T, s *Server) string {
	answer := ask(t, s, "GET", s.URL())
	if cookies := answer.Cookies(); answer.StatusCode == http.StatusOK && len(cookies) == 1 {
		if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || strings.Contains(s.URL(), c.Value) {
			t.Errorf("cookie: %v", c)
		}
		return "Cookie: " + cookies[0].Name + "=" + cookies[0].Value
	}
	t.Fatalf("login: %s, %v", answer.Status, answer.Cookies())
	return ""
}

// TestBundleIsSmall: the pages load over slow connections.
func TestBundleIsSmall(t *testing.T) {
	const limit = 200_000 // bytes
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := assets.ReadFile("assets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(text)
	}
	if err := w.Close(); err != nil || len(files) < 3 || packed.Len() > limit {
		t.Errorf("%d files are %d bytes when compressed, want at most %d (%v)", len(files), packed.Len(), limit, err)
	}
}

// paths are everything that is served.
var paths = map[string]string{
	"/": "GET", "/app.js": "GET", "/app.css": "GET", "/api/live": "GET", "/api/explain?cluster=c1&service=shop/web": "GET", "/api/status?cluster=c1": "GET",
	"/api/events?cluster=c1": "GET", "/api/without?cluster=c1&without=c2": "GET", "/api/checks": "POST",
}

func TestNeedsCookie(t *testing.T) {
	s := newTestServer(t)
	for path, method := range paths {
		for _, headers := range [][]string{nil, {"Cookie: " + s.cookie + "=x"}, {"Cookie: " + s.cookie + "="}, {"Authorization: Bearer " + s.token}} {
			if got := ask(t, s, method, here+path, headers...); got.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s %s with %v: %s", method, path, headers, got.Status)
			}
		}
	}
	cookie := login(t, s)
	for path, method := range paths {
		got := ask(t, s, method, here+path, cookie)
		if want := strings.HasPrefix(path, "/api/") && strings.Contains(path, "cluster="); got.StatusCode == http.StatusUnauthorized || want != (got.StatusCode == http.StatusNotFound) {
			t.Errorf("%s %s with the cookie: %s", method, path, got.Status)
		}
	}
}

// TestTokenWorksOnce: of the printed address, somebody else who reads it later has nothing.
func TestTokenWorksOnce(t *testing.T) {
	s := newTestServer(t)
	url := s.URL()
	for _, wrong := range []string{here + "/login", here + "/login?token=", here + "/login?token=x"} {
		if got := ask(t, s, "GET", wrong); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
			t.Errorf("%s: %s, %v", wrong, got.Status, got.Cookies())
		}
	}
	if got := ask(t, s, "HEAD", url); len(got.Cookies()) > 0 {
		t.Errorf("HEAD uses the token: %s", got.Status)
	}
	cookie := login(t, s)
	for _, again := range []string{url, here + "/login?token="} {
		if got := ask(t, s, "GET", again); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
			t.Errorf("%s again: %s, %v", again, got.Status, got.Cookies())
		}
	}
	if got := ask(t, s, "GET", url, cookie); got.StatusCode != http.StatusSeeOther {
		t.Errorf("the address again in the same browser: %s", got.Status)
	}
}

// TestRefusesOtherSites: neither a name that somebody points to this machine, nor a page from elsewhere, reaches anything.
func TestRefusesOtherSites(t *testing.T) {
	s := newTestServer(t)
	cookie := login(t, s)
	for _, headers := range [][]string{
		{"Host: evil.example"},
		{"Host: evil.example:7777"},
		{"Host: 127.0.0.1"},
		{"Host: 127.0.0.1:7778"},
		{"Host: 127.0.0.1.evil.example:7777"},
		{"Host: "},
		{"Origin: https://evil.example"},
		{"Origin: null"},
		{"Origin: http://localhost:7777"},
		{"Sec-Fetch-Site: cross-site"},
		{"Sec-Fetch-Site: same-site"},
	} {
		for path, method := range paths {
			if got := ask(t, s, method, here+path, append(headers, cookie)...); got.StatusCode != http.StatusMisdirectedRequest && got.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s with %q: %s", method, path, headers, got.Status)
			}
		}
	}
	for _, headers := range [][]string{nil, {"Host: localhost:7777"}, {"Origin: " + here}, {"Sec-Fetch-Site: same-origin"}} {
		if got := ask(t, s, "GET", here+"/", append(headers, cookie)...); got.StatusCode != http.StatusOK {
			t.Errorf("with %q: %s", headers, got.Status)
		}
	}
}

func TestPolicy(t *testing.T) {
	s := newTestServer(t)
	cookie := login(t, s)
	for path, method := range paths {
		got := ask(t, s, method, here+path, cookie)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Access-Control-Allow-Origin": ""} {
			if have := got.Header.Get(name); have != want {
				t.Errorf("%s: %s is %q", path, name, have)
			}
		}
	}
	for _, word := range []string{"unsafe", "*", "http:", "https:"} {
		if strings.Contains(policy, word) {
			t.Errorf("the policy allows %s", word)
		}
	}
}

func TestBadRequests(t *testing.T) {
	s := newTestServer(t)
	cookie := login(t, s)
	for path, want := range map[string]int{
		"/api/explain?cluster=c1&service=web":     http.StatusBadRequest,
		"/api/explain?cluster=c1&service=/":       http.StatusBadRequest,
		"/api/explain?cluster=c1&service=a/b/c":   http.StatusBadRequest,
		"/api/explain?cluster=../x&service=a/b":   http.StatusNotFound,
		"/api/without?cluster=c1&without=%3Cb%3E": http.StatusBadRequest,
		"/assets/app.js":                          http.StatusNotFound,
		"/../server.go":                           http.StatusNotFound,
	} {
		if got := ask(t, s, "GET", here+path, cookie); got.StatusCode != want && got.StatusCode/100 != 3 {
			t.Errorf("%s: %s, want %d", path, got.Status, want)
		}
	}
}
