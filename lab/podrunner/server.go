package podrunner

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mastersGroup is the organisation of clients that may do everything.
const mastersGroup = "system:masters"

// serve begins to serve the kubelet's API in the node's namespace, until ctx is
// done.
func (r *runner) serve(ctx context.Context, node Node) error {
	tlsConfig, err := r.tlsConfig()
	if err != nil {
		return err
	}
	listener, err := node.Namespace.Listen(ctx, "tcp", fmt.Sprintf(":%d", kubeletPort))
	if err != nil {
		return fmt.Errorf("listening for the kubelet's API on %s: %w", node, err)
	}
	server := &http.Server{
		Handler: mastersOnly(r.handler(node)), TLSConfig: tlsConfig, ReadHeaderTimeout: 30 * time.Second,
		// Streams take over the connection, which HTTP/2 has no notion of.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.ServeTLS(listener, "", ""); err != nil && !errors.Is(err, http.ErrServerClosed) {
			r.log.Error("serving the kubelet's API", "node", node.Name, "error", err)
		}
	}()
	return nil
}

func (r *runner) tlsConfig() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(r.cfg.ServingCert, r.cfg.ServingKey)
	if err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	text, err := os.ReadFile(r.cfg.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("reading the client CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("reading the client CA: no certificate in %s", r.cfg.ClientCA)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
	}, nil
}

func mastersOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 ||
			!slices.Contains(req.TLS.PeerCertificates[0].Subject.Organization, mastersGroup) {
			http.Error(w, "only clients of organisation "+mastersGroup+" are served", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// handler serves the parts of the kubelet's API that an API server passes
// requests on to.
func (r *runner) handler(node Node) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /pods", func(w http.ResponseWriter, _ *http.Request) { r.servePods(w, node) })
	h := &handlers{runner: r, node: node.Name}
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", h.logs)
	for _, uid := range []string{"", "/{uid}"} {
		mux.HandleFunc("/exec/{namespace}/{pod}"+uid+"/{container}", h.exec)
		mux.HandleFunc("/attach/{namespace}/{pod}"+uid+"/{container}", h.attach)
		mux.HandleFunc("/portForward/{namespace}/{pod}"+uid, h.portForward)
	}
	return mux
}

func (r *runner) servePods(w http.ResponseWriter, node Node) {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	r.mu.Lock()
	for _, worker := range r.workers {
		if v := worker.view.Load(); v != nil && worker.node.Name == node.Name {
			list.Items = append(list.Items, *v.pod)
		}
	}
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(list); err != nil {
		r.log.Debug("serving pods", "error", err)
	}
}

// handlers serve requests about one node's Pods.
type handlers struct {
	runner *runner
	node   string
}

// pod finds the Pod that a request is about; without one it answers.
func (h *handlers) pod(w http.ResponseWriter, req *http.Request) (*view, bool) {
	worker, ok := h.runner.find(h.node, req.PathValue("namespace"), req.PathValue("pod"), types.UID(req.PathValue("uid")))
	if ok {
		if v := worker.view.Load(); v != nil {
			return v, true
		}
	}
	http.Error(w, fmt.Sprintf("pod %q does not run on this node", req.PathValue("pod")), http.StatusNotFound)
	return nil, false
}

// container finds the container that a request is about; without one it answers.
func (h *handlers) container(w http.ResponseWriter, req *http.Request) (containerView, bool) {
	v, ok := h.pod(w, req)
	if !ok {
		return containerView{}, false
	}
	c, ok := v.containers[req.PathValue("container")]
	if !ok {
		http.Error(w, fmt.Sprintf("container %q not found in pod %q", req.PathValue("container"), req.PathValue("pod")), http.StatusNotFound)
	}
	return c, ok
}
