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
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/hub/servingcert"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// reconciler keeps the Secret, and the authority in the webhook's configuration.
type reconciler struct{ client client.Client }

// New returns the controller, which reads from the given cache.
func New(c client.Client, from cache.Cache) (controller.Controller, error) {
	return kit.New("webhookcert", reconciler{c},
		kit.Watch(from, &admissionv1.ValidatingWebhookConfiguration{}, same[*admissionv1.ValidatingWebhookConfiguration]),
		kit.Watch(from, &corev1.Secret{}, same[*corev1.Secret]),
	)
}

// same maps everything to the one certificate that there is.
func same[O client.Object](context.Context, kit.Event[O]) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: SecretKey}}
}

// SecretKey is the Secret with the certificate.
var SecretKey = client.ObjectKey{Namespace: names.HubNamespace, Name: names.HubWebhookSecret}

// Reconcile makes a certificate where there is none that is good, and asks to be called when it
// has to be replaced. The API server trusts a new one before anybody serves with it.
func (r reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	config, secret := &admissionv1.ValidatingWebhookConfiguration{}, &corev1.Secret{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: names.HubWebhook}, config); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err) // nobody is to be asked
	}
	if len(config.Webhooks) != 1 {
		return reconcile.Result{}, fmt.Errorf("the configuration %s has %d webhooks, not the one that it was installed with: run atoll hub deploy again", config.Name, len(config.Webhooks))
	}
	err := r.client.Get(ctx, SecretKey, secret)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading the webhook's certificate: %w", err)
	}
	there := err == nil
	host := host(config.Webhooks[0].ClientConfig)
	pair, good := Pair(secret), Pair(secret).Good(host, time.Now())
	if good == 0 {
		if pair, err = servingcert.New(host, time.Now()); err != nil {
			return reconcile.Result{}, fmt.Errorf("making the webhook's certificate: %w", err)
		}
	}
	if err := r.trust(ctx, config, pair.Certificate); err != nil || good > 0 {
		return reconcile.Result{RequeueAfter: good}, err
	}
	if err := r.store(ctx, secret, there, pair); err != nil {
		return reconcile.Result{}, fmt.Errorf("storing the webhook's certificate: %w", err)
	}
	return reconcile.Result{}, nil // the Secret's coming is the next event
}

// trust has the API server trust a certificate.
func (r reconciler) trust(ctx context.Context, config *admissionv1.ValidatingWebhookConfiguration, certificate []byte) error {
	have := config.Webhooks[0].ClientConfig.CABundle
	want := servingcert.Bundle(certificate, have)
	if bytes.Equal(have, want) {
		return nil
	}
	config.Webhooks[0].ClientConfig.CABundle = want
	if err := r.client.Update(ctx, config); err != nil {
		return fmt.Errorf("putting the certificate authority into the webhook's configuration: %w", err)
	}
	return nil
}

func (r reconciler) store(ctx context.Context, secret *corev1.Secret, there bool, pair servingcert.Pair) error {
	secret.ObjectMeta.Namespace, secret.ObjectMeta.Name = SecretKey.Namespace, SecretKey.Name
	secret.Type = corev1.SecretTypeTLS
	secret.Data = map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}
	if there {
		return r.client.Update(ctx, secret)
	}
	secret.ObjectMeta = metav1.ObjectMeta{Namespace: SecretKey.Namespace, Name: SecretKey.Name}
	if err := r.client.Create(ctx, secret); !apierrors.IsAlreadyExists(err) {
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
