// Package webhookcert keeps the certificate of the hub's webhook: one replica makes it, has the
// API server trust it and replaces it in time, and all serve with it.
package webhookcert

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/servingcert"
)

// Controller keeps the Secret, and the authority in the webhook's configuration.
type Controller struct {
	writer controllers.Writer
	now    func() time.Time
}

// NewController returns a controller.
func NewController(writer controllers.Writer) *Controller {
	return &Controller{writer: writer, now: time.Now}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "webhookcert" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	same := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: SecretKey}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		Watches(&admissionv1.ValidatingWebhookConfiguration{}, same).
		Watches(&corev1.Secret{}, same).
		WithOptions(kit.Options[reconcile.Request]()).
		Complete(c)
}

// SecretKey is the Secret with the certificate.
var SecretKey = client.ObjectKey{Namespace: names.HubNamespace, Name: names.HubWebhookSecret}

// Reconcile makes a certificate where there is none that is good, and asks to be called when it
// has to be replaced. The API server trusts a new one before anybody serves with it.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	config, secret := &admissionv1.ValidatingWebhookConfiguration{}, &corev1.Secret{}
	if err := c.writer.Client.Get(ctx, client.ObjectKey{Name: names.HubWebhook}, config); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err) // nobody is to be asked
	}
	if len(config.Webhooks) != 1 {
		return reconcile.Result{}, fmt.Errorf("the configuration %s has %d webhooks, not the one that it was installed with: run atoll hub deploy again", config.Name, len(config.Webhooks))
	}
	err := c.writer.Client.Get(ctx, SecretKey, secret)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading the webhook's certificate: %w", err)
	}
	there := err == nil
	host := host(config.Webhooks[0].ClientConfig)
	pair, good := Pair(secret), Pair(secret).Good(host, c.now())
	if good == 0 {
		if pair, err = servingcert.New(host, c.now()); err != nil {
			return reconcile.Result{}, fmt.Errorf("making the webhook's certificate: %w", err)
		}
	}
	if err := c.trust(ctx, config, pair.Certificate); err != nil || good > 0 {
		return reconcile.Result{RequeueAfter: good}, err
	}
	if err := c.store(ctx, secret, there, pair); err != nil {
		return reconcile.Result{}, fmt.Errorf("storing the webhook's certificate: %w", err)
	}
	return reconcile.Result{}, nil // the Secret's coming is the next event
}

// trust has the API server trust a certificate.
func (c *Controller) trust(ctx context.Context, config *admissionv1.ValidatingWebhookConfiguration, certificate []byte) error {
	have := config.Webhooks[0].ClientConfig.CABundle
	want := servingcert.Bundle(certificate, have)
	if bytes.Equal(have, want) {
		return nil
	}
	config.Webhooks[0].ClientConfig.CABundle = want
	if err := c.writer.Client.Update(ctx, config); err != nil {
		return fmt.Errorf("putting the certificate authority into the webhook's configuration: %w", err)
	}
	return nil
}

func (c *Controller) store(ctx context.Context, secret *corev1.Secret, there bool, pair servingcert.Pair) error {
	secret.ObjectMeta.Namespace, secret.ObjectMeta.Name = SecretKey.Namespace, SecretKey.Name
	secret.Type = corev1.SecretTypeTLS
	secret.Data = map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}
	if there {
		return c.writer.Client.Update(ctx, secret)
	}
	secret.ObjectMeta = metav1.ObjectMeta{Namespace: SecretKey.Namespace, Name: SecretKey.Name}
	if err := c.writer.Client.Create(ctx, secret); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil // its coming is the next event
}

// Pair is the certificate in the Secret.
func Pair(secret *corev1.Secret) servingcert.Pair {
	return servingcert.Pair{Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
}

// host is by what name the API server calls the webhook.
func host(config admissionv1.WebhookClientConfig) string {
	if config.Service != nil {
		return config.Service.Name + "." + config.Service.Namespace + ".svc"
	}
	if config.URL != nil {
		if parsed, err := url.Parse(*config.URL); err == nil {
			return parsed.Hostname()
		}
	}
	return ""
}
