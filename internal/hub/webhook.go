package hub

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/hub/webhookcert"
)

// webhook validates MultiClusterServices, on every replica. It decides from the request alone: the conditions report what depends
// on other objects. It makes the same checks as Atoll's CustomResourceDefinition, for brokers that keep another one.
type webhook struct {
	address     string
	log         *slog.Logger
	certificate atomic.Pointer[tls.Certificate]
}

// newWebhook returns a webhook that serves with the certificate in the Secret that a manager watches.
func newWebhook(ctx context.Context, mgr manager.Manager, address string, log *slog.Logger) (*webhook, error) {
	w := &webhook{address: address, log: log}
	informer, err := mgr.GetCache().GetInformer(ctx, &corev1.Secret{}, ctrlcache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching the webhook's certificate: %w", err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.load(object.(*corev1.Secret)) },
		UpdateFunc: func(_, object any) { w.load(object.(*corev1.Secret)) },
	})
	return w, err
}

func (w *webhook) load(secret *corev1.Secret) {
	certificate, err := webhookcert.Pair(secret).Load()
	if err != nil {
		w.log.Warn("the webhook's certificate can't be used and is about to be replaced", "error", err)
		return
	}
	w.certificate.Store(certificate)
}

// NeedLeaderElection has every replica answer.
func (w *webhook) NeedLeaderElection() bool { return false }

// Start serves until ctx is done.
func (w *webhook) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", w.address)
	if err != nil {
		return fmt.Errorf("listening for the webhook: %w", err)
	}
	return w.serve(ctx, listener)
}

func (w *webhook) serve(ctx context.Context, listener net.Listener) error {
	server := w.server()
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ServeTLS(netutil.LimitListener(listener, maxConnections), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the webhook: %w", err)
	}
	return nil
}

const (
	// requestTimeout is how long a request may take to arrive: twice as long as the API server waits (see internal/install/render).
	requestTimeout = 10 * time.Second
	// idleTimeout is longer than an API server keeps a connection that it does not use.
	idleTimeout = 2 * time.Minute
	// maxHeader and maxBody bound a request, in bytes. A body holds two objects of the largest size that an API server accepts.
	maxHeader, maxBody = 8 << 10, 4 << 20
	// maxConnections is how many connections are open at a time. Others wait until the timeouts close one.
	maxConnections = 256
	// maxConcurrent is how many requests are decoded at a time, each with its body in memory.
	maxConcurrent = 32
)

// server bounds the time and the memory that callers can take.
func (w *webhook) server() *http.Server {
	return &http.Server{
		Handler:           bounded(&admission.Webhook{Handler: w}),
		ReadHeaderTimeout: requestTimeout / 2, ReadTimeout: requestTimeout, WriteTimeout: 2 * requestTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(w.log.Handler(), slog.LevelDebug), // errors of callers
		// HTTP/1.1 alone: a connection has one request at a time, and the timeouts hold for each.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if certificate := w.certificate.Load(); certificate != nil {
				return certificate, nil
			}
			return nil, errors.New("there is no certificate yet")
		}},
	}
}

// bounded limits the size of requests, and how many of them a handler handles at a time.
func bounded(handler http.Handler) http.Handler {
	slots := make(chan struct{}, maxConcurrent)
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-req.Context().Done():
			return
		}
		req.Body = http.MaxBytesReader(rw, req.Body, maxBody)
		handler.ServeHTTP(rw, req)
	})
}

// Handle implements admission.Handler.
func (w *webhook) Handle(_ context.Context, req admission.Request) admission.Response {
	mcs := &networkingv1alpha1.MultiClusterService{}
	if err := json.Unmarshal(req.Object.Raw, mcs); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if mcs.DeletionTimestamp != nil {
		return admission.Allowed("")
	}
	if err := mcs.Spec.Validate(); err != nil {
		return admission.Denied(err.Error())
	}
	return admission.Allowed("")
}
