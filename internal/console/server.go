package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

//go:embed assets
var assets embed.FS

// policy lets a page load only what this program serves, and nobody frame it (Content Security Policy Level 3).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Server serves a console on a loopback address. Every user of the machine can connect there, so a page needs a cookie, which the
// printed address gives once.
type Server struct {
	console *Console
	host    string // HOST:PORT
	cookie  string // its name: cookies do not distinguish ports

	mu    sync.Mutex
	token string // "" once it has been used
	keys  map[string]struct{}
	life  context.Context
}

// NewServer returns the server for a listener's address. Requests and checks end with life.
func NewServer(life context.Context, c *Console, at net.Addr) *Server {
	_, port, _ := net.SplitHostPort(at.String())
	return &Server{console: c, host: at.String(), cookie: "atoll-console-" + port, token: rand.Text(), keys: map[string]struct{}{}, life: life}
}

// URL is the address that opens the console once.
func (s *Server) URL() string { return "http://" + s.host + "/login?token=" + s.token }

// Handler serves the pages.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", s.login)
	mux.Handle("GET /{$}", s.with(s.file("index.html", "text/html; charset=utf-8")))
	mux.Handle("GET /app.js", s.with(s.file("app.js", "text/javascript; charset=utf-8")))
	mux.Handle("GET /app.css", s.with(s.file("app.css", "text/css; charset=utf-8")))
	mux.Handle("GET /api/live", s.with(s.live))
	mux.Handle("GET /api/explain", s.with(s.answer(func(r *http.Request) (any, error) {
		service, err := serviceOf(r)
		if err != nil {
			return nil, err
		}
		return s.console.explain(r.Context(), r.FormValue("cluster"), service)
	})))
	mux.Handle("GET /api/status", s.with(s.answer(func(r *http.Request) (any, error) { return s.console.status(r.Context(), r.FormValue("cluster")) })))
	mux.Handle("GET /api/events", s.with(s.answer(func(r *http.Request) (any, error) { return s.console.events(r.Context(), r.FormValue("cluster")) })))
	mux.Handle("GET /api/without", s.with(s.answer(func(r *http.Request) (any, error) {
		return s.console.without(r.Context(), r.FormValue("cluster"), r.FormValue("without"))
	})))
	mux.Handle("POST /api/checks", s.with(func(w http.ResponseWriter, _ *http.Request) {
		go s.console.runChecks(s.life)
		w.WriteHeader(http.StatusAccepted)
	}))
	return s.guard(mux)
}

// guard refuses requests for other hosts, which a page elsewhere makes by DNS rebinding, and requests from other sites.
func (s *Server) guard(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.host)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch origin := r.Header.Get("Origin"); {
		case r.Host != s.host && r.Host != "localhost:"+port:
			http.Error(w, "The console answers only at http://"+s.host+".", http.StatusMisdirectedRequest)
		case origin != "" && origin != "http://"+r.Host, r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.URL.Path != "/login":
			http.Error(w, "The console answers only to its own pages.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// login exchanges the token for a cookie, once.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := r.URL.Query().Get("token")
	if s.token == "" || subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) != 1 {
		if s.hasCookie(r) { // somebody has gone back
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		http.Error(w, "This address has been used, or is wrong. Run atoll console again.", http.StatusForbidden)
		return
	}
	key := rand.Text()
	s.token, s.keys[key] = "", struct{}{}
	http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	// The cookie is not sent with a redirect from another site, so the page goes on by itself.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Refresh", "0; url=/")
	fmt.Fprint(w, `<!doctype html><title>atoll console</title><link rel="icon" href="data:,"><a href="/">Continue</a>`)
}

// hasCookie reports whether a request comes from somebody who used the token. The caller holds the lock.
func (s *Server) hasCookie(r *http.Request) bool {
	for _, c := range r.CookiesNamed(s.cookie) {
		if _, found := s.keys[c.Value]; found {
			return true
		}
	}
	return false
}

// with refuses requests without the cookie.
func (s *Server) with(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		known := s.hasCookie(r)
		s.mu.Unlock()
		if !known {
			http.Error(w, "Open the address that atoll console has printed.", http.StatusUnauthorized)
			return
		}
		next(w, r)
	})
}

func (s *Server) file(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(text)
	}
}

// answer writes what a function returns as JSON, or its error as text.
func (s *Server) answer(of func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := of(r)
		switch {
		case errors.Is(err, errUnread):
			http.Error(w, err.Error(), http.StatusNotFound)
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			http.Error(w, err.Error(), http.StatusForbidden)
		case errors.Is(err, errBadRequest):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(encode(value))
		}
	}
}

var errBadRequest = errors.New("invalid request")

func serviceOf(r *http.Request) (types.NamespacedName, error) {
	namespace, name, found := strings.Cut(r.FormValue("service"), "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("%w: the service must be NAMESPACE/NAME", errBadRequest)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// aliveTime is how often an idle stream is written to, so that a page notices that the program has ended.
const aliveTime = 10 * time.Second

// live streams the view and its changes as server-sent events (HTML Standard, section 9.2).
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	v, now := s.console.watch()
	defer s.console.leave(v)
	write := func(change any) bool {
		text, err := json.Marshal(change)
		if err != nil {
			return false
		}
		_, err = fmt.Fprintf(w, "data: %s\n\n", text)
		return err == nil && control.Flush() == nil
	}
	if !write(now) {
		return
	}
	alive := time.NewTicker(aliveTime)
	defer alive.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.life.Done():
			return
		case <-alive.C:
			if _, err := fmt.Fprint(w, ": alive\n\n"); err != nil || control.Flush() != nil {
				return
			}
		case <-v.wake:
			if !write(s.console.next(v)) {
				return
			}
		}
	}
}
