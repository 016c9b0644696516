package hub

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// connectionLimit bounds how many connections a server has from which no authenticated request has come yet. A new connection closes
// the oldest of them, so that nobody can keep the API server out by holding connections open.
type connectionLimit struct {
	mu      sync.Mutex
	max     int
	ordered *list.List // of net.Conn, the oldest first
	at      map[net.Conn]*list.Element
}

func newConnectionLimit(max int) *connectionLimit {
	return &connectionLimit{max: max, ordered: list.New(), at: map[net.Conn]*list.Element{}}
}

// connState is http.Server's ConnState.
func (l *connectionLimit) connState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if oldest := l.add(conn); oldest != nil {
			_ = oldest.Close()
		}
	case http.StateClosed, http.StateHijacked:
		l.remove(conn)
	}
}

// add counts a connection, and returns the one to close, or nil.
func (l *connectionLimit) add(conn net.Conn) (oldest net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[conn] = l.ordered.PushBack(conn)
	if l.ordered.Len() <= l.max {
		return nil
	}
	oldest = l.ordered.Remove(l.ordered.Front()).(net.Conn)
	delete(l.at, oldest)
	return oldest
}

func (l *connectionLimit) remove(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, found := l.at[conn]; found {
		l.ordered.Remove(e)
		delete(l.at, conn)
	}
}

type connectionKey struct{}

// connContext is http.Server's ConnContext.
func (l *connectionLimit) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// exempt stops counting the connection of an authenticated request.
func (l *connectionLimit) exempt(ctx context.Context) {
	if conn, ok := ctx.Value(connectionKey{}).(net.Conn); ok {
		l.remove(conn)
	}
}
