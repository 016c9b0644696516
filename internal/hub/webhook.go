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
// It answers the API server alone, which knows the path to ask at: an answer tells which Services there are, and costs a read of
// one. Others are kept from taking up its time and its memory.
type webhook struct {
	address     string
	services    client.Reader // past any copy: a Service may just have been created
	log         *slog.Logger
	certificate atomic.Pointer[tls.Certificate]
	path        atomic.Pointer[string] // what the last element of the URL's path has to be
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
	// questionTime is how long a question may take to arrive, and an answer to be read: as long as the API server waits (see
	// internal/render), and as much again.
	questionTime = 10 * time.Second
	// idleTime is longer than an API server keeps a connection that it does not use.
	idleTime = 2 * time.Minute
	// maxHeader bounds what a question says before it begins, and maxQuestion the question itself, in bytes: two objects of the size
	// that an API server takes, and room.
	maxHeader, maxQuestion = 8 << 10, 4 << 20
	// maxAtOnce is how many questions are answered at a time; others wait.
	maxAtOnce = 32
	// maxStrangers is how many connections there may be that have asked nothing yet, or nothing good.
	maxStrangers = 256
)

// server serves questions and bounds whatever a caller makes it hold.
func (w *webhook) server() *http.Server {
	strangers := newStrangers(maxStrangers)
	return &http.Server{
		Handler:           w.authenticated(strangers, &admission.Webhook{Handler: w}),
		ReadHeaderTimeout: questionTime / 2, ReadTimeout: questionTime, WriteTimeout: 2 * questionTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ConnContext:    strangers.context,
		ConnState:      strangers.note,
		ErrorLog:       slog.NewLogLogger(w.log.Handler(), slog.LevelDebug), // of whoever knocks
		// HTTP/1.1 alone: a connection asks one thing at a time, and the timeouts hold for each.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if certificate := w.certificate.Load(); certificate != nil {
				return certificate, nil
			}
			return nil, errors.New("there is no certificate yet")
		}},
	}
}

// authenticated has a handler answer questions at the path that only the API server knows, so many at a time.
func (w *webhook) authenticated(strangers *strangers, handler http.Handler) http.Handler {
	places := make(chan struct{}, maxAtOnce)
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		want := w.path.Load()
		if want == nil || *want == "" || subtle.ConstantTimeCompare([]byte(path.Base(req.URL.Path)), []byte(*want)) != 1 {
			rw.Header().Set("Connection", "close")
			http.NotFound(rw, req)
			return
		}
		strangers.known(req.Context())
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-req.Context().Done():
			return
		}
		req.Body = http.MaxBytesReader(rw, req.Body, maxQuestion)
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
