// Package apiserver is an in-memory Kubernetes API server with the features that agents need.
// It speaks the real protocol (HTTP, protobuf and JSON, lists, watches with initial events,
// optimistic locking, merge patches, status subresources) without a socket: it is the transport
// of a client's configuration.
//
// The server has no authentication, validation or admission. It replaces the controllers that
// agents depend on: it assigns cluster IPs to Services, and it deletes the dependents of a
// deleted object and the content of a deleted namespace.
package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
)

// Server is an API server. Use New to create a server.
type Server struct {
	store   *store
	version string
	told    atomic.Pointer[func(*eventsv1.Event)]
}

// New returns a server with the namespaces default and kube-system and the API server's own
// Service. Services get addresses from 10.x.0.0/16, where x is network.
func New(network byte) *Server {
	s := &Server{store: newStore(network), version: "v1.36.0-in-memory"}
	s.store.bootstrap()
	return s
}

// Config returns a client configuration without client-side rate limits.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: "http://in-memory", Transport: roundTripper{s}, QPS: -1}
}

// OnEvent calls f with each created Event. The server does not store Events.
func (s *Server) OnEvent(f func(*eventsv1.Event)) { s.told.Store(&f) }

// Writes returns the number of writes that changed an object, by resource.
func (s *Server) Writes() map[string]int { return s.store.counts(s.store.writes) }

// Wasted returns the number of write requests that changed nothing, by resource: refused
// requests and updates without a change.
func (s *Server) Wasted() map[string]int { return s.store.counts(s.store.wasted) }

// Unchanged returns the number of updates without a change, by resource.
func (s *Server) Unchanged() map[string]int { return s.store.counts(s.store.unchanged) }

// SetFast sets the server's clock fast by d, or slow if d is negative. The clock sets creation
// timestamps.
func (s *Server) SetFast(d time.Duration) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.fast = d
}

// Forget compacts the history, like a compaction of etcd: a watch from an earlier version
// expires, and its client has to list again.
func (s *Server) Forget() { s.store.forget() }

// Backup returns the current content, like a backup of etcd.
func (s *Server) Backup() *Backup { return s.store.backup() }

// Restore restores a backup, like a restore of etcd: every watch ends, and the server assigns
// the versions since the backup again. A watch from such a version gets no events until the
// server reaches it.
func (s *Server) Restore(b *Backup) { s.store.restore(b) }

// Bump raises the current version and expires watches from earlier versions, as etcdutl
// snapshot restore does with --bump-revision and --mark-compacted.
func (s *Server) Bump(by uint64) {
	s.store.mu.Lock()
	s.store.version += by
	s.store.mu.Unlock()
	s.store.forget()
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.serveDiscovery(w, r) {
		return
	}
	t, ok := parse(r.URL.Path)
	if !ok {
		fail(w, notFound("", r.URL.Path))
		return
	}
	if err := s.serve(w, r, t); err != nil {
		fail(w, err)
	}
}

// target is the resource and object of a request.
type target struct {
	kind        *kind
	namespace   string
	name        string
	subresource string
}

// parse reads a path as /api/v1/namespaces/NS/services/NAME/status.
func parse(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group, version := "", ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return target{}, false
	}
	var t target
	if len(parts) > 2 && parts[0] == "namespaces" && kindOf(group, version, parts[2]) != nil {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.kind = kindOf(group, version, parts[0])
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	return t, t.kind != nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, t target) error {
	switch {
	case r.Method == http.MethodGet && t.name == "" && isTrue(r, "watch"):
		return s.watch(w, r, t)
	case (r.Method == http.MethodGet || r.Method == http.MethodDelete) && t.name == "":
		return s.list(w, r, t)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	var object Object
	switch r.Method {
	case http.MethodGet:
		object, err = s.store.get(t)
	case http.MethodPost:
		if r.URL.Query().Has("dryRun") { // agents try whether the broker's policies exist
			return apierrors.NewForbidden(t.kind.groupResource(), t.name, errors.New("denied by ValidatingAdmissionPolicy "+rights.MemberPolicyName(t.namespace)))
		}
		object, err = s.create(t, body)
	case http.MethodPut:
		object, err = s.update(t, body)
	case http.MethodPatch:
		object, err = s.patch(t, r.Header.Get("Content-Type"), r.URL.Query().Get("fieldManager"), body)
	case http.MethodDelete:
		object, err = s.delete(t, body)
	default:
		err = badRequest("%s is not supported", r.Method)
	}
	if err != nil {
		if r.Method != http.MethodGet {
			s.store.waste(t.kind)
		}
		return err
	}
	code := http.StatusOK
	if r.Method == http.MethodPost {
		code = http.StatusCreated
	}
	return negotiate(r, t.kind).write(w, code, object)
}

func (s *Server) create(t target, body []byte) (Object, error) {
	object, err := decode(t.kind, body)
	if err != nil {
		return nil, err
	}
	if t.kind.discarded {
		if f := s.told.Load(); f != nil {
			(*f)(object.(*eventsv1.Event))
		}
		return object, nil
	}
	return s.store.create(t, object)
}

func (s *Server) update(t target, body []byte) (Object, error) {
	object, err := decode(t.kind, body)
	if err != nil {
		return nil, err
	}
	return s.store.update(t, func(Object) (Object, error) { return object, nil })
}

func (s *Server) patch(t target, contentType, manager string, body []byte) (Object, error) {
	if t.kind.discarded {
		return t.kind.new(), nil
	}
	return s.store.update(t, func(have Object) (Object, error) { return s.store.patched(t.kind, have, contentType, manager, body) })
}

func (s *Server) delete(t target, body []byte) (Object, error) {
	options := &metav1.DeleteOptions{}
	if len(body) > 0 {
		if _, _, err := codecs.UniversalDeserializer().Decode(body, nil, options); err != nil {
			return nil, badRequest("decoding the options: %v", err)
		}
	}
	return s.store.delete(t, options)
}

// list serves a list request or a deletecollection request.
func (s *Server) list(w http.ResponseWriter, r *http.Request, t target) error {
	filter, err := filterOf(r, t)
	if err != nil {
		return err
	}
	objects, at := s.store.list(filter)
	for _, o := range objects {
		if r.Method != http.MethodDelete {
			break
		}
		one := t
		one.namespace, one.name = o.GetNamespace(), o.GetName()
		if _, err := s.store.delete(one, &metav1.DeleteOptions{}); err != nil && !isNotFound(err) {
			return err
		}
	}
	return negotiate(r, t.kind).writeList(w, t.kind, objects, at)
}

// serveDiscovery serves discovery in the older format, which all clients understand.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) bool {
	var answer any
	switch path := strings.TrimSuffix(r.URL.Path, "/"); path {
	case "/version":
		answer = version.Info{Major: "1", Minor: "36", GitVersion: s.version}
	case "/api":
		answer = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case "/apis":
		answer = groups()
	default:
		resources, ok := resourcesAt(path)
		if !ok {
			return false
		}
		answer = resources
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	_ = json.NewEncoder(w).Encode(answer) // fails only when the client is gone
	return true
}

func isTrue(r *http.Request, parameter string) bool {
	value := r.URL.Query().Get(parameter)
	return value == "true" || value == "1"
}
