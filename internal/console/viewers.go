package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

const (
	// idleTime is how long a viewer's console is kept after the last request.
	idleTime = 10 * time.Minute
	// maxViewers limits the viewers at the same time: each has watches of its own.
	maxViewers = 30
	// askViewerTime limits the check of a token, and recheckTime is how often that is repeated: tokens expire.
	askViewerTime, recheckTime = 10 * time.Second, time.Minute
	// viewerCookie is the cookie of somebody who has logged in. Browsers accept the prefix only over TLS, and do not send the cookie to other hosts.
	viewerCookie = "__Host-atoll-console"
	// loginPolicy is policy with a form.
	loginPolicy = noForms + "; form-action 'self'"
)

// Viewers serves consoles in a cluster. Each viewer sees what the viewer's own token may read: it comes with each request from a
// proxy that authenticates (Authorization: Bearer), or is given once in a form.
type Viewers struct {
	// Cluster reaches the cluster's API server, without credentials. Broker, if not nil, does so for the broker's: the viewer's token
	// must be valid there, too.
	Cluster, Broker *rest.Config
	// Hosts are the names, with ports unless they are the usual ones, at which browsers open the console.
	Hosts []string

	mu      sync.Mutex
	by      map[[sha256.Size]byte]*session // by token
	cookies map[string]*session
}

// session is one viewer's console.
type session struct {
	console *Console
	end     context.CancelFunc
	key     [sha256.Size]byte
	cookies []string
	streams int
	idle    *time.Timer
}

// Handler serves the pages until life ends.
func (v *Viewers) Handler(life context.Context) http.Handler {
	v.by, v.cookies = map[[sha256.Size]byte]*session{}, map[string]*session{}
	p := pages{life, func(r *http.Request) *Console {
		if s := v.find(life, r); s != nil {
			return s.console
		}
		return nil
	}, v.ask, func(r *http.Request) func() { return v.hold(life, r) }}
	mux := p.mux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) { v.login(life, w, r) })
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	open.Handle("/", guard(mux, loginPolicy, "/", v.Hosts...))
	return open
}

// ask answers somebody without a token.
func (v *Viewers) ask(w http.ResponseWriter, r *http.Request) {
	askFor(w, r, http.StatusUnauthorized, "")
}

func askFor(w http.ResponseWriter, r *http.Request, code int, problem string) {
	if r.URL.Path != "/" && r.URL.Path != "/login" {
		http.Error(w, "No valid token.", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Atoll</title><link rel="icon" href="data:,">
<main><h1>Atoll console</h1><p>%s</p><form method="post" action="/login"><p><label>A token of this cluster, for example of
<code>kubectl create token NAME</code>: <input name="token" type="password" autocomplete="off" required></label> <button>Open</button></p></form></main></html>`, html.EscapeString(problem))
}

// login exchanges a token for a cookie.
func (v *Viewers) login(life context.Context, w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	s, err := v.open(life, strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		askFor(w, r, http.StatusForbidden, err.Error())
		return
	}
	value := rand.Text()
	v.mu.Lock()
	v.cookies[value], s.cookies = s, append(s.cookies, value)
	v.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: viewerCookie, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// find returns the session of whoever sends a request, or nil.
func (v *Viewers) find(life context.Context, r *http.Request) *session {
	if token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found {
		s, err := v.open(life, token)
		if err != nil {
			return nil
		}
		return s
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range r.CookiesNamed(viewerCookie) {
		if s := v.cookies[c.Value]; s != nil {
			s.idle.Reset(idleTime)
			return s
		}
	}
	return nil
}

// hold keeps the session of a request while its stream is open. It returns what ends that.
func (v *Viewers) hold(life context.Context, r *http.Request) func() {
	s := v.find(life, r)
	if s == nil {
		return func() {}
	}
	add := func(n int) {
		v.mu.Lock()
		defer v.mu.Unlock()
		s.streams += n
		s.idle.Reset(idleTime)
	}
	add(1)
	return func() { add(-1) }
}

// open returns the session of a token, which it begins if the API server knows the token.
func (v *Viewers) open(life context.Context, token string) (*session, error) {
	key := sha256.Sum256([]byte(token))
	if s := v.opened(key); s != nil {
		return s, nil
	}
	if token == "" {
		return nil, errors.New("the token is missing")
	}
	config := withToken(v.Cluster, token)
	if err := known(life, config); err != nil {
		return nil, fmt.Errorf("the API server does not accept the token: %w", err)
	}
	var direct *rest.Config
	if v.Broker != nil {
		direct = withToken(v.Broker, token)
	}
	made, err := New([]checkup.Target{{Context: "in-cluster", On: command.Here, Config: config}}, nil, direct)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.by[key]; s != nil {
		return s, nil // another request was faster
	}
	if len(v.by) >= maxViewers {
		return nil, fmt.Errorf("%d others look at the console. Try again later", maxViewers)
	}
	ctx, cancel := context.WithCancel(life)
	s := &session{console: made, end: cancel, key: key}
	s.idle = time.AfterFunc(idleTime, func() { v.expire(s, false) })
	v.by[key] = s
	go made.Run(ctx)
	go v.recheck(ctx, s, config)
	return s, nil
}

// opened returns the session of a token that has one.
func (v *Viewers) opened(key [sha256.Size]byte) *session {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.by[key]
	if s != nil {
		s.idle.Reset(idleTime)
	}
	return s
}

// recheck ends a session when the API server no longer knows its token.
func (v *Viewers) recheck(ctx context.Context, s *session, config *rest.Config) {
	every := time.NewTicker(recheckTime)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			if apierrors.IsUnauthorized(known(ctx, config)) {
				v.expire(s, true)
			}
		}
	}
}

// expire ends a session, unless a page is open and it need not end now.
func (v *Viewers) expire(s *session, now bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by[s.key] != s {
		return // it has ended
	}
	if s.streams > 0 && !now {
		s.idle.Reset(idleTime)
		return
	}
	s.idle.Stop()
	delete(v.by, s.key)
	for _, value := range s.cookies {
		delete(v.cookies, value)
	}
	s.end()
}

// withToken returns a configuration with a viewer's token.
func withToken(config *rest.Config, token string) *rest.Config {
	config = rest.CopyConfig(config)
	config.BearerToken = token
	return config
}

// known reports why the API server does not know a token.
func known(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, askViewerTime)
	defer cancel()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	return err
}
