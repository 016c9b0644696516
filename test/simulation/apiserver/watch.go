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

// stream is the events of one watch that its client has not got yet.
type stream struct {
	filter filter
	after  uint64 // the version from which it goes on, which may be yet to come: until then it gets nothing

	mu      sync.Mutex
	waiting []event
	more    chan struct{} // holds one signal while events wait
	over    bool
	ended   chan struct{} // closed when the server ends it
}

func newStream(f filter, after uint64) *stream {
	return &stream{filter: f, after: after, more: make(chan struct{}, 1), ended: make(chan struct{})}
}

// end has the server end the watch.
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

// watch answers with events until the client has enough. The client's own time limit is
// not heeded: a watch that ends is begun again where it ended.
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
	// The client is gone when writing fails; there is nobody to tell.
	_ = e.stream(frame, stream, initial, at, initially && isTrue(r, "allowWatchBookmarks"), s.marks(r, stream), r.Context().Done())
	return nil
}

// markEvery is how often a watch gets a bookmark, as real servers send them.
const markEvery = time.Minute

// marks returns what says which version a watch has reached, 0 where it is not to be told.
func (s *Server) marks(r *http.Request, of *stream) func() uint64 {
	return func() uint64 {
		if at := s.store.current(); isTrue(r, "allowWatchBookmarks") && at >= of.after {
			return at
		}
		return 0 // it waits for versions that are yet to come
	}
}

// stream writes what there is, then a bookmark if it is asked for, then what happens, and a bookmark every now and then.
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
			reached = mark() // all that happened until then waits already
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
