package hub

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// strangers are a server's connections that have not yet asked what only the API server can ask. There are so many at most: a new
// one takes the place of the oldest, so that nobody can keep the API server out by holding connections open.
type strangers struct {
	mu      sync.Mutex
	most    int
	ordered *list.List // of net.Conn, the oldest first
	at      map[net.Conn]*list.Element
}

func newStrangers(most int) *strangers {
	return &strangers{most: most, ordered: list.New(), at: map[net.Conn]*list.Element{}}
}

// note is http.Server's ConnState.
func (s *strangers) note(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if oldest := s.add(conn); oldest != nil {
			_ = oldest.Close() // whatever it says, it is of no use any more
		}
	case http.StateClosed, http.StateHijacked:
		s.remove(conn)
	}
}

// add returns the connection that has to go for it, or nil.
func (s *strangers) add(conn net.Conn) (oldest net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[conn] = s.ordered.PushBack(conn)
	if s.ordered.Len() <= s.most {
		return nil
	}
	oldest = s.ordered.Remove(s.ordered.Front()).(net.Conn)
	delete(s.at, oldest)
	return oldest
}

func (s *strangers) remove(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, found := s.at[conn]; found {
		s.ordered.Remove(e)
		delete(s.at, conn)
	}
}

type connectionKey struct{}

// context is http.Server's ConnContext.
func (s *strangers) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// known has the connection of a request stay.
func (s *strangers) known(ctx context.Context) {
	if conn, ok := ctx.Value(connectionKey{}).(net.Conn); ok {
		s.remove(conn)
	}
}
