package broker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
)

// The next request uses a new token, on the existing connection. Earlier requests continue.
func TestTokenIsReplacedInPlace(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	end := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("Authorization"))
		mu.Unlock()
		switch r.URL.Path {
		case "/refuse":
			w.WriteHeader(http.StatusUnauthorized)
		case "/watch":
			fmt.Fprint(w, "begun")
			w.(http.Flusher).Flush()
			<-end
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	var refused []string
	token := NewToken("first", func(token string) { refused = append(refused, token) })
	config := token.Config(credential.Membership{Server: server.URL})
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: true}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	connections := 0
	get := func(path string) *http.Response {
		t.Helper()
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				connections++
			}
		}}
		request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if request.Header.Get("Authorization") != "" {
			t.Error("the caller's request was changed")
		}
		return response
	}
	watch := get("/watch")
	defer watch.Body.Close()
	token.Set("second")
	get("/").Body.Close()
	get("/refuse").Body.Close()
	buffer := make([]byte, 5)
	if _, err := watch.Body.Read(buffer); err != nil || string(buffer) != "begun" {
		t.Errorf("the watch: %q, %v", buffer, err)
	}
	close(end)
	if connections != 1 {
		t.Errorf("%d connections were made", connections)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"Bearer first", "Bearer second", "Bearer second"}; !slices.Equal(seen, want) {
		t.Errorf("the server saw %q, want %q", seen, want)
	}
	if !slices.Equal(refused, []string{"second"}) {
		t.Errorf("refused were %q", refused)
	}
}
