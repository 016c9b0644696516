package hub

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/controllers/webhookcert"
)

// webhook answers the API server's questions about MultiClusterServices, on every replica: what
// needs a look at another object, and, where somebody else has installed the definition, what
// that would say otherwise.
//
// It answers only the API server, which knows the secret path: an answer reveals whether a Service exists, and costs a read of it.
// Other callers can't exhaust its connections or memory.
type webhook struct {
	address     string
	services    client.Reader // past any copy: a Service may just have been created
	log         *slog.Logger
	certificate atomic.Pointer[tls.Certificate]
	path        atomic.Pointer[string] // the secret last element of the URL's path
}

// newWebhook returns a webhook that serves with what is in the Secret that a manager watches.
func newWebhook(ctx context.Context, mgr manager.Manager, address string, log *slog.Logger) (*webhook, error) {
	w := &webhook{address: address, services: mgr.GetAPIReader(), log: log}
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
	path := webhookcert.Path(secret)
	w.path.Store(&path)
}

// NeedLeaderElection has every replica answer.
func (w *webhook) NeedLeaderElection() bool { return false }

// Start serves until ctx is done.
func (w *webhook) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", w.address)
	if err != nil {
		return fmt.Errorf("listening for the API server's questions: %w", err)
	}
	server := w.server()
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the webhook: %w", err)
	}
	return nil
}

const (
	// requestTimeout is how long a request may take to arrive: twice as long as the API server waits (see internal/render).
	requestTimeout = 10 * time.Second
	// idleTimeout is longer than an API server keeps a connection that it does not use.
	idleTimeout = 2 * time.Minute
	// maxHeader and maxBody bound a request, in bytes. A body holds two objects of the largest size that an API server accepts.
	maxHeader, maxBody = 8 << 10, 4 << 20
	// maxConcurrent is how many requests are answered at a time; others wait.
	maxConcurrent = 32
	// maxUnauthenticated is how many connections may be open without an authenticated request.
	maxUnauthenticated = 256
)

// server answers requests, and bounds the time and memory that a caller can take.
func (w *webhook) server() *http.Server {
	limit := newConnectionLimit(maxUnauthenticated)
	return &http.Server{
		Handler:           w.authenticated(limit, &admission.Webhook{Handler: w}),
		ReadHeaderTimeout: requestTimeout / 2, ReadTimeout: requestTimeout, WriteTimeout: 2 * requestTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ConnContext:    limit.connContext,
		ConnState:      limit.connState,
		ErrorLog:       slog.NewLogLogger(w.log.Handler(), slog.LevelDebug), // errors of unauthenticated callers
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

// authenticated passes requests at the secret path to a handler, maxConcurrent at a time, and refuses all others.
func (w *webhook) authenticated(limit *connectionLimit, handler http.Handler) http.Handler {
	slots := make(chan struct{}, maxConcurrent)
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		want := w.path.Load()
		if want == nil || *want == "" || subtle.ConstantTimeCompare([]byte(path.Base(req.URL.Path)), []byte(*want)) != 1 {
			rw.Header().Set("Connection", "close")
			http.NotFound(rw, req)
			return
		}
		limit.exempt(req.Context())
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
func (w *webhook) Handle(ctx context.Context, req admission.Request) admission.Response {
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
	service := &corev1.Service{}
	err := w.services.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: req.Name}, service)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("reading Service %s/%s: %w", req.Namespace, req.Name, err))
	case err != nil && req.Operation == admissionv1.Create:
		return admission.Denied(fmt.Sprintf("there is no Service %s in namespace %s: create it first, for a MultiClusterService exposes the Service of its name", req.Name, req.Namespace))
	case err != nil: // it is gone, and what remains may be put right all the same
		return admission.Allowed("").WithWarnings(fmt.Sprintf("there is no Service %s in namespace %s any more", req.Name, req.Namespace))
	}
	if err := networkingv1alpha1.CheckPorts(mcs.Spec.Ports, service); err != nil {
		return admission.Denied(err.Error())
	}
	return admission.Allowed("")
}
