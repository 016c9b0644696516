package console

import (
	"cmp"
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
	// idleTime is how long a viewer's console is kept after the last request, and after its last page was closed.
	idleTime = 10 * time.Minute
	// maxSessions limits the sessions, each of which has watches, and maxOfUser those of one user: tokens of a user change.
	maxSessions, maxOfUser = 30, 3
	// maxCookies limits the cookies of one session.
	maxCookies = 10
	// maxAsking limits the tokens that are checked at the same time.
	maxAsking = 10
	// askViewerTime limits the check of a token, and recheckTime is how often that is repeated: tokens expire.
	askViewerTime, recheckTime = 10 * time.Second, time.Minute
	// viewerCookie is the name of a viewer's cookie. Browsers accept its prefix only over TLS, and send such a cookie to no other host.
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

	asking chan struct{} // limits

	mu      sync.Mutex
	by      map[[sha256.Size]byte]*session // by token
	cookies map[string]*session
}

// session is one viewer's console.
type session struct {
	console *Console
	end     context.CancelFunc
	key     [sha256.Size]byte
	user    string
	cookies []string
	idle    *time.Timer
}

// Handler serves the pages until life ends.
func (v *Viewers) Handler(life context.Context) http.Handler {
	v.asking, v.by, v.cookies = make(chan struct{}, maxAsking), map[[sha256.Size]byte]*session{}, map[string]*session{}
	p := pages{func(r *http.Request) (*Console, error) {
		s, err := v.find(life, r)
		if err != nil {
			return nil, err
		}
		return s.console, nil
	}, askFor}
	mux := p.mux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) { v.login(life, w, r) })
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	open.Handle("/", guard(mux, loginPolicy, "/", v.Hosts...))
	return open
}

// tooMany is the error that a limit is reached.
type tooMany struct{ error }

// askFor answers somebody whose token is missing, is not accepted, or cannot be checked.
func askFor(w http.ResponseWriter, r *http.Request, err error) {
	code, problem := http.StatusServiceUnavailable, err.Error()
	switch {
	case errors.Is(err, errNoToken):
		code, problem = http.StatusUnauthorized, ""
	case apierrors.IsUnauthorized(err):
		code = http.StatusUnauthorized
	case errors.As(err, new(tooMany)):
		code = http.StatusTooManyRequests
	case !errors.As(err, new(apierrors.APIStatus)):
		problem = "The API server does not answer."
	}
	if r.URL.Path != "/" && r.URL.Path != "/login" {
		http.Error(w, cmp.Or(problem, "The token is missing."), code)
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
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTime))
	s, err := v.open(life, strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		askFor(w, r, err)
		return
	}
	value := rand.Text()
	v.mu.Lock()
	if v.by[s.key] == s { // else it has just ended: the page asks again
		if v.cookies[value], s.cookies = s, append(s.cookies, value); len(s.cookies) > maxCookies {
			delete(v.cookies, s.cookies[0])
			s.cookies = s.cookies[1:]
		}
	}
	v.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: viewerCookie, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// find returns the session of whoever sends a request.
func (v *Viewers) find(life context.Context, r *http.Request) (*session, error) {
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		return v.open(life, token)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range r.CookiesNamed(viewerCookie) {
		if s := v.cookies[c.Value]; s != nil {
			s.idle.Reset(idleTime)
			return s, nil
		}
	}
	return nil, errNoToken
}

// open returns the session of a token, which it begins if the API server knows the token.
func (v *Viewers) open(life context.Context, token string) (*session, error) {
	key := sha256.Sum256([]byte(token))
	if s := v.opened(key); s != nil {
		return s, nil
	}
	if token == "" {
		return nil, errNoToken
	}
	config := withToken(v.Cluster, token)
	user, err := v.known(life, config)
	if err != nil {
		return nil, fmt.Errorf("checking the token: %w", err)
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
	if err := v.makeRoom(user); err != nil {
		return nil, err
	}
	if len(v.by) >= maxSessions {
		return nil, tooMany{fmt.Errorf("%d others look at the console. Try again later", maxSessions)}
	}
	ctx, cancel := context.WithCancel(life)
	s := &session{console: made, end: cancel, key: key, user: user}
	s.idle = time.AfterFunc(idleTime, func() { v.expire(s) })
	v.by[key] = s
	go made.Run(ctx)
	go v.recheck(ctx, s, config)
	return s, nil
}

// makeRoom ends the session of a user with too many at which nobody has looked for longest. The caller holds the lock.
func (v *Viewers) makeRoom(user string) error {
	var longest *session
	var unwatched time.Duration
	n := 0
	for _, s := range v.by {
		if s.user != user {
			continue
		}
		n++
		if d := s.console.unwatched(); d > unwatched {
			longest, unwatched = s, d
		}
	}
	switch {
	case n < maxOfUser:
	case longest == nil:
		return tooMany{fmt.Errorf("%d sessions of user %s have open pages. Close some", n, user)}
	default:
		v.drop(longest)
	}
	return nil
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
			if _, err := v.known(ctx, config); apierrors.IsUnauthorized(err) {
				v.mu.Lock()
				v.drop(s)
				v.mu.Unlock()
			}
		}
	}
}

// expire ends a session, unless a page is open or was until a moment ago.
func (v *Viewers) expire(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if left := idleTime - s.console.unwatched(); left > 0 {
		s.idle.Reset(left)
		return
	}
	v.drop(s)
}

// drop ends a session. The caller holds the lock.
func (v *Viewers) drop(s *session) {
	if v.by[s.key] != s {
		return // it has ended
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

// known returns the user to whom the API server says that a token belongs.
func (v *Viewers) known(ctx context.Context, config *rest.Config) (user string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, askViewerTime)
	defer cancel()
	select {
	case v.asking <- struct{}{}:
		defer func() { <-v.asking }()
	case <-ctx.Done():
		return "", tooMany{errors.New("too many tokens are being checked. Try again later")}
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	review, err := kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}
