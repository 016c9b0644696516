package console

import (
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

//go:embed assets
var assets embed.FS

// policy lets a page load only what this program serves, and nobody frame it (Content Security Policy Level 3).
const (
	policy  = noForms + "; form-action 'none'"
	noForms = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
)

// pages serves consoles.
type pages struct {
	// find returns the console of whoever sends a request.
	find func(*http.Request) (*Console, error)
	// refuse answers a request without a console: the error says why.
	refuse func(http.ResponseWriter, *http.Request, error)
}

// Server serves a console on a loopback address. Every user of the machine can connect there, so a page needs a cookie, which the
// printed address gives once.
type Server struct {
	console *Console
	host    string // HOST:PORT
	cookie  string // its name: cookies do not distinguish ports

	mu    sync.Mutex
	token string // "" once it has been used
	keys  map[string]struct{}
}

// NewServer returns the server for a listener's address. Streams end when the console no longer runs.
func NewServer(c *Console, at net.Addr) *Server {
	_, port, _ := net.SplitHostPort(at.String())
	return &Server{console: c, host: at.String(), cookie: "atoll-console-" + port, token: rand.Text(), keys: map[string]struct{}{}}
}

// URL is the address that opens the console once.
func (s *Server) URL() string { return "http://" + s.host + "/login?token=" + s.token }

// Handler serves the pages.
func (s *Server) Handler() http.Handler {
	p := pages{func(r *http.Request) (*Console, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.hasCookie(r) {
			return s.console, nil
		}
		return nil, errNoToken
	}, func(w http.ResponseWriter, _ *http.Request, _ error) {
		http.Error(w, "Open the address that atoll console has printed.", http.StatusUnauthorized)
	}}
	mux := p.mux()
	mux.HandleFunc("GET /login", s.login)
	_, port, _ := net.SplitHostPort(s.host)
	return guard(mux, policy, "/login", s.host, "localhost:"+port)
}

// mux serves what needs a console.
func (p pages) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", p.file("index.html", "text/html; charset=utf-8"))
	mux.Handle("GET /app.js", p.file("app.js", "text/javascript; charset=utf-8"))
	mux.Handle("GET /app.css", p.file("app.css", "text/css; charset=utf-8"))
	mux.Handle("GET /api/live", p.with(p.live))
	mux.Handle("GET /api/explain", p.answer(func(c *Console, r *http.Request) (any, error) {
		service, err := serviceOf(r)
		if err != nil {
			return nil, err
		}
		return c.explain(r.Context(), r.FormValue("cluster"), service)
	}))
	mux.Handle("GET /api/status", p.answer(func(c *Console, r *http.Request) (any, error) { return c.status(r.Context(), r.FormValue("cluster")) }))
	mux.Handle("GET /api/events", p.answer(func(c *Console, r *http.Request) (any, error) { return c.events(r.Context(), r.FormValue("cluster")) }))
	mux.Handle("GET /api/without", p.answer(func(c *Console, r *http.Request) (any, error) {
		return c.without(r.Context(), r.FormValue("cluster"), r.FormValue("without"))
	}))
	mux.Handle("POST /api/checks", p.with(func(c *Console, w http.ResponseWriter, _ *http.Request) {
		c.startChecks()
		w.WriteHeader(http.StatusAccepted)
	}))
	return mux
}

// guard refuses requests for other hosts, which a page elsewhere makes by DNS rebinding, and requests from other sites but for
// links to one path.
func guard(next http.Handler, policy, linked string, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send Origin: null with forms
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch origin := r.Header.Get("Origin"); {
		case !slices.Contains(hosts, r.Host):
			http.Error(w, "The console answers only at "+strings.Join(hosts, " and "), http.StatusMisdirectedRequest)
		case origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host, isForeign(r) && (r.Method != http.MethodGet || r.URL.Path != linked):
			http.Error(w, "The console answers only to its own pages.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isForeign reports whether a page of another origin sends a request: also one of another port or name of this host (Fetch Metadata, section 2.4).
func isForeign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// login exchanges the token for a cookie, once.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // HEAD also comes here
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
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

// with passes requests on with the console of whoever sends them.
func (p pages) with(next func(*Console, http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := p.find(r); err == nil {
			next(c, w, r)
		} else {
			p.refuse(w, r, err)
		}
	})
}

func (p pages) file(name, kind string) http.Handler {
	return p.with(func(_ *Console, w http.ResponseWriter, _ *http.Request) {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(text)
	})
}

// answer writes what a function returns as JSON, or its error as text.
func (p pages) answer(of func(*Console, *http.Request) (any, error)) http.Handler {
	return p.with(func(c *Console, w http.ResponseWriter, r *http.Request) {
		value, err := of(c, r)
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
	})
}

var errNoToken = errors.New("the token is missing")

var errBadRequest = errors.New("invalid request")

func serviceOf(r *http.Request) (types.NamespacedName, error) {
	namespace, name, found := strings.Cut(r.FormValue("service"), "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("%w: the service must be NAMESPACE/NAME", errBadRequest)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

const (
	// readTime is how long a client may take to send a request's header, or its body, and writeTime to accept an answer or a change.
	readTime, writeTime = 10 * time.Second, time.Minute
	// partSize is how much of a change a page must accept in writeTime, in bytes.
	partSize = 1 << 18
	// idleConnection is how long a connection is kept without a request.
	idleConnection = 2 * time.Minute
)

// NewHTTPServer returns a server that waits for no client forever.
func NewHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleConnection}
}

// aliveTime is how often an idle stream is written to, so that a page notices that the program has ended.
const aliveTime = 10 * time.Second

// live streams the view and its changes as server-sent events (HTML Standard, section 9.2).
func (p pages) live(c *Console, w http.ResponseWriter, r *http.Request) {
	v, now, err := c.watch()
	if err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	defer c.leave(v)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect changes
	control := http.NewResponseController(w)
	send := func(text string) bool {
		for part := range slices.Chunk([]byte(text), partSize) { // the first message can be large
			_ = control.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := w.Write(part); err != nil || control.Flush() != nil {
				return false
			}
		}
		return true
	}
	write := func(change any) bool {
		text, err := json.Marshal(change)
		return err == nil && send("data: "+string(text)+"\n\n")
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
		case <-c.closed:
			return
		case <-alive.C:
			if !send("event: alive\ndata: {}\n\n") {
				return
			}
		case <-v.wake:
			if !write(c.next(v)) {
				return
			}
		}
	}
}
