package outpost

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// server is an API server with faults. It serves only the requests of outposts. It calls
// trouble before each response; trouble returns true if it has responded itself.
type server struct {
	trouble func(w http.ResponseWriter, r *http.Request) bool

	mu         sync.Mutex
	namespaces map[string]bool
}

func start(t *testing.T, s *server) *rest.Config {
	t.Helper()
	s.namespaces = map[string]bool{}
	httpServer := httptest.NewServer(s)
	t.Cleanup(httpServer.Close)
	return &rest.Config{Host: httpServer.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/")
	switch {
	case r.Method == http.MethodPost:
		n := &corev1.Namespace{}
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, n) != nil { // read to the end, so that the server notices a client that disconnects
			panic(http.ErrAbortHandler)
		}
		s.namespaces[n.Name] = true
	case r.Method == http.MethodDelete:
		delete(s.namespaces, name)
	}
	if s.trouble != nil && s.trouble(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/pods/client"):
		answer(w, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "client"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}})
	case strings.HasSuffix(r.URL.Path, "/namespaces") && r.Method == http.MethodGet:
		answer(w, &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}})
	case r.Method == http.MethodGet && !s.namespaces[name]:
		w.WriteHeader(http.StatusNotFound)
		answer(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	default:
		answer(w, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}})
	}
}

// have are the namespaces.
func (s *server) have() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.namespaces))
}

func answer(w http.ResponseWriter, object any) {
	_ = json.NewEncoder(w).Encode(object) // the client may have gone
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	answer(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
}

// A namespace is deleted if the response to its creation was lost, because the command was
// interrupted or the connection failed. A refused creation leaves no namespace.
func TestNamespaceWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		trouble func(w http.ResponseWriter, r *http.Request, interrupt func())
		post    bool
	}{
		"interrupted": {func(_ http.ResponseWriter, r *http.Request, interrupt func()) { interrupt(); <-r.Context().Done() }, true},
		"cut":         {func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) }, true},
		"in doubt": {func(w http.ResponseWriter, _ *http.Request, _ func()) {
			refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
		}, true},
		"refused": {func(w http.ResponseWriter, _ *http.Request, _ func()) {
			refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			s := &server{trouble: func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					c.trouble(w, r, interrupt)
				}
				return r.Method == http.MethodPost
			}}
			post, err := Open(ctx, start(t, s), Options{Command: "check", Lifetime: time.Minute})
			if err == nil || (post != nil) != c.post {
				t.Fatalf("%v, %v", post, err)
			}
			if post == nil {
				return
			}
			if have := s.have(); !slices.Equal(have, []string{post.Name}) {
				t.Fatalf("there are %v, the outpost is %s", have, post.Name)
			}
			if err := post.Close(ctx); err != nil {
				t.Error(err)
			}
			if err := post.AwaitGone(ctx); err != nil || len(s.have()) > 0 {
				t.Errorf("left are %v, %v", s.have(), err)
			}
		})
	}
}

// await tolerates temporary read errors of a pod, but not a missing permission. Errors contain
// the cause.
func TestAwait(t *testing.T) {
	s := &server{}
	asked := 0
	trouble := func(times, code int, reason metav1.StatusReason) {
		asked = 0
		s.trouble = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/pods/") {
				asked++
			}
			if asked <= times {
				refuse(w, code, reason)
			}
			return asked <= times
		}
	}
	post, err := Open(t.Context(), start(t, s), Options{Command: "check", Lifetime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	trouble(2, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	if pod, err := post.await(t.Context(), "client", time.Minute, ended); err != nil || pod.Name != "client" || asked != 3 {
		t.Errorf("%v, %v after %d requests", pod, err, asked)
	}
	if _, err := post.await(t.Context(), "client", time.Minute, ready); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("waiting for a pod that has ended: %v", err)
	}
	trouble(100, http.StatusForbidden, metav1.StatusReasonForbidden)
	if _, err := post.await(t.Context(), "client", time.Minute, ended); err == nil || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
	trouble(100, http.StatusInternalServerError, metav1.StatusReasonInternalError)
	if _, err := post.await(t.Context(), "client", 0, ended); err == nil || !strings.Contains(err.Error(), "reading pod") {
		t.Errorf("the error has no cause: %v", err)
	}
}

// A ResourceQuota may demand requests and limits of each pod.
func TestPodsHaveResources(t *testing.T) {
	p := &Outpost{Options: Options{Image: "i", Lifetime: time.Minute}}
	r := p.pod("client").Spec.Containers[0].Resources
	for name, list := range map[string]corev1.ResourceList{"requests": r.Requests, "limits": r.Limits} {
		if list.Cpu().IsZero() || list.Memory().IsZero() {
			t.Errorf("the pod's %s are %v", name, list)
		}
	}
}
