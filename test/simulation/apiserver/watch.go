package apiserver

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// stream holds the events of a watch that the client has not received yet.
type stream struct {
	filter filter
	after  uint64 // the watch gets only later versions; the version may be in the future

	mu      sync.Mutex
	waiting []event
	more    chan struct{} // holds one signal while events are waiting
	over    bool
	ended   chan struct{} // closed when the server ends the watch
}

func newStream(f filter, after uint64) *stream {
	return &stream{filter: f, after: after, more: make(chan struct{}, 1), ended: make(chan struct{})}
}

// end ends the watch from the server's side.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.ended)
	}
}

func (s *stream) add(e event) {
	if kind, _ := s.filter.seen(e); kind == "" || e.version <= s.after {
		return
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, e)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *stream) take() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.waiting
	s.waiting = nil
	return events
}

// watch sends events until the client disconnects. It ignores the client's time limit: a client
// would only resume the watch.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target) error {
	f, err := filterOf(r, t)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	initially := isTrue(r, "sendInitialEvents")
	var after uint64
	if v := query.Get("resourceVersion"); v != "" && !initially {
		if after, err = strconv.ParseUint(v, 10, 64); err != nil {
			return badRequest("resourceVersion: %v", err)
		}
	}
	stream, initial, at, err := s.store.watchFrom(f, after)
	if err != nil {
		return err
	}
	defer s.store.unwatch(stream)
	e := negotiate(r, t.kind)
	framer := e.info.StreamSerializer.Framer.NewFrameWriter(w)
	frame := func(data []byte) error {
		_, err := framer.Write(data)
		return err
	}
	w.Header().Set("Content-Type", e.info.MediaType)
	w.WriteHeader(http.StatusOK)
	// Writing fails only if the client has disconnected.
	_ = e.stream(frame, stream, initial, at, initially && isTrue(r, "allowWatchBookmarks"), s.marks(r, stream), r.Context().Done())
	return nil
}

// Real servers send bookmarks once a minute too.
const markEvery = time.Minute

// marks returns a function that returns the version for a bookmark, or 0 for no bookmark.
func (s *Server) marks(r *http.Request, of *stream) func() uint64 {
	return func() uint64 {
		if at := s.store.current(); isTrue(r, "allowWatchBookmarks") && at >= of.after {
			return at
		}
		return 0 // the watch waits for a version in the future
	}
}

// stream writes the current objects, a bookmark if requested, then events with regular
// bookmarks.
func (e encoding) stream(frame func([]byte) error, s *stream, initial []Object, at uint64, bookmark bool, mark func() uint64, done <-chan struct{}) error {
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	for _, o := range initial {
		if err := e.writeEvent(frame, watch.Added, o); err != nil {
			return err
		}
	}
	if bookmark {
		o := s.filter.kind.new()
		o.SetResourceVersion(strconv.FormatUint(at, 10))
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		if err := e.writeEvent(frame, watch.Bookmark, o); err != nil {
			return err
		}
	}
	for {
		reached := uint64(0)
		select {
		case <-done:
			return nil
		case <-s.ended:
			return nil
		case <-ticker.C:
			reached = mark() // all events up to this version are already waiting
		case <-s.more:
		}
		events := s.take()
		if reached > 0 && len(events) == 0 {
			o := s.filter.kind.new()
			o.SetResourceVersion(strconv.FormatUint(reached, 10))
			if err := e.writeEvent(frame, watch.Bookmark, o); err != nil {
				return err
			}
		}
		for _, event := range events {
			kind, object := s.filter.seen(event)
			if err := e.writeEvent(frame, kind, object); err != nil {
				return fmt.Errorf("writing to a watch: %w", err)
			}
		}
	}
}
