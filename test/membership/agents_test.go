package membership

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/credential"
	"github.com/atoll-mcs/atoll/internal/names"
)

// asAgent is how a cluster's agent reaches its own API server, with its own rights.
func asAgent(t *testing.T, cluster string) *rest.Config {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: "atoll-agent"}}
	if err := on[cluster].SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	config, err := theLab.RESTConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = request.Status.Token
	return config
}

// startAgent runs an agent as a cluster's own until the returned function is called, or the
// test ends. Its log goes to w.
func startAgent(t *testing.T, local *rest.Config, w io.Writer, change ...func(*agent.Options)) (stop func()) {
	t.Helper()
	options := agent.Options{
		Local: local, BrokerTokenLifetime: rights.MaxTokenLifetime,
		LeaseTimeout: 4 * time.Second, MetricsAddress: "0", HealthAddress: "0",
	}
	for _, f := range change {
		f(&options)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := agent.Run(ctx, options, slog.New(slog.NewTextHandler(w, nil))); err != nil {
			t.Errorf("the agent has ended: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// membershipOf is what a cluster keeps of its membership.
func membershipOf(t *testing.T, cluster string) (credential.Membership, *corev1.Secret) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := on[cluster].Get(t.Context(), client.ObjectKey{Namespace: names.SystemNamespace, Name: credential.SecretName}, secret); err != nil {
		t.Fatal(err)
	}
	m, err := credential.FromSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	return m, secret
}

// create creates objects, which go with the test.
func create(t *testing.T, cluster string, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := on[cluster].Create(t.Context(), o); err != nil {
			t.Fatalf("creating %s in %s: %v", o.GetName(), cluster, err)
		}
		t.Cleanup(func() {
			if err := on[cluster].Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				t.Errorf("deleting %s in %s: %v", o.GetName(), cluster, err)
			}
			if ns, ok := o.(*corev1.Namespace); ok { // the next test takes stock of the cluster
				eventually(t, "the namespace "+ns.Name+" is gone in "+cluster, func() error {
					return isGone(on[cluster].Get(context.Background(), client.ObjectKeyFromObject(ns), &corev1.Namespace{}))
				})
			}
		})
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func service(namespace, name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func export(namespace, name string) *mcsv1beta1.ServiceExport {
	return &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// expectImport waits until a cluster has imported a service from exactly these clusters.
func expectImport(t *testing.T, cluster, namespace, name string, from ...string) {
	t.Helper()
	eventually(t, cluster+" has imported "+name, func() error { return imported(t.Context(), cluster, namespace, name, from...) })
}

func metaOf(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
