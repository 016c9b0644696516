package apiserver

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// roundTripper hands requests to the server without a connection.
type roundTripper struct{ server *Server }

// RoundTrip serves a request. The server writes the body while the client reads it, so a watch
// runs until the client closes it or gives up.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	body, pipe := io.Pipe()
	w := &response{header: http.Header{}, body: pipe, started: make(chan struct{})}
	request := r.Clone(ctx)
	if request.Body == nil {
		request.Body = http.NoBody
	}
	// A reader of a watch must not hang if the server waits for an event.
	stop := context.AfterFunc(ctx, func() { _ = pipe.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		defer request.Body.Close()
		t.server.ServeHTTP(w, request)
		w.WriteHeader(http.StatusOK)
		_ = pipe.Close()
	}()
	select {
	case <-w.started:
	case <-r.Context().Done():
		cancel()
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: w.code, Status: http.StatusText(w.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: &closing{body, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// closing ends the request when the client closes its response.
type closing struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the request.
func (c *closing) Close() error {
	c.cancel()
	return c.PipeReader.Close()
}

// response is the server's side of a response.
type response struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	started chan struct{}
	code    int
}

// Header returns the headers. Changes after the first write have no effect.
func (r *response) Header() http.Header { return r.header }

// WriteHeader sends the headers to the client.
func (r *response) WriteHeader(code int) {
	r.once.Do(func() {
		r.code, r.header = code, r.header.Clone()
		close(r.started)
	})
}

// Write returns when the client has read the data.
func (r *response) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(data)
}
