package planes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// NoError ends the test if there is an error.
func NoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Succeeds reports an error without ending the test.
func Succeeds(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// Create creates objects.
func Create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// Delete deletes objects.
func Delete(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Fatalf("deleting %T %s: %v", o, o.GetName(), err)
		}
	}
}

// CleanUp deletes objects after the test. Objects that no longer exist are ignored.
func CleanUp(t *testing.T, c client.Client, objects ...client.Object) {
	t.Cleanup(func() {
		for _, o := range objects {
			if err := c.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
			}
		}
	})
}

// Read reads an object's newest version.
func Read(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	NoError(t, read(t.Context(), c, object))
}

// read decodes into a fresh object: decoding into the old object would keep fields that the
// newest version no longer has.
func read(ctx context.Context, c client.Client, object client.Object) error {
	into := reflect.ValueOf(object).Elem()
	fresh := reflect.New(into.Type()).Interface().(client.Object)
	fresh.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind()) // unstructured objects keep their kind here
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), fresh); err != nil {
		return err
	}
	into.Set(reflect.ValueOf(fresh).Elem())
	return nil
}

// Change reads an object, changes it and updates it, as kubectl edit does.
func Change[T client.Object](t *testing.T, c client.Client, object T, f func(T)) {
	t.Helper()
	Until(t, "changing "+object.GetName(), c, object, func() error {
		f(object)
		return c.Update(t.Context(), object)
	})
}

// Until reads an object repeatedly until the object exists and check returns nil.
func Until(t *testing.T, what string, c client.Client, object client.Object, check func() error) {
	t.Helper()
	Eventually(t, what, func() error {
		if err := read(t.Context(), c, object); err != nil {
			return err
		}
		return check()
	})
}

// IsGone returns nil if an object was not found.
func IsGone(err error) error {
	if err == nil {
		return errors.New("the object still exists")
	}
	return client.IgnoreNotFound(err)
}

// Gone waits until objects are deleted or marked as withdrawn. A member's withdrawn objects
// stay on the broker for a while.
func Gone(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		Eventually(t, fmt.Sprintf("%T %s is gone", o, o.GetName()), func() error {
			if err := IsGone(c.Get(t.Context(), client.ObjectKeyFromObject(o), o)); err != nil && !layout.Withdrawn(o) {
				return err
			}
			return nil
		})
	}
}

// Condition waits for a condition of the object's current generation with the wanted status,
// the wanted reason ("status/reason", optional), and a message that contains the words.
// Condition returns the condition that matched.
func Condition(t *testing.T, c client.Client, object client.Object, kind, want, words string) (found metav1.Condition) {
	t.Helper()
	Until(t, fmt.Sprintf("condition %s of %s being %s", kind, object.GetName(), want), c, object, func() error {
		all := Conditions(object)
		now := meta.FindStatusCondition(all, kind)
		status, reason, _ := strings.Cut(want, "/")
		if now == nil || string(now.Status) != status || reason != "" && now.Reason != reason || !strings.Contains(now.Message, words) ||
			now.ObservedGeneration != object.GetGeneration() {
			return fmt.Errorf("want %q, have %+v", words, all)
		}
		found = *now
		return nil
	})
	return found
}

// Conditions returns the object's conditions.
func Conditions(object client.Object) []metav1.Condition {
	switch o := object.(type) {
	case *mcsv1beta1.ServiceExport:
		return o.Status.Conditions
	case *mcsv1beta1.ServiceImport:
		return o.Status.Conditions
	case *networkingv1alpha1.MultiClusterService:
		return o.Status.Conditions
	default:
		return nil
	}
}

// Events lists the Events in a namespace that regard objects of a kind and have a reason.
func Events(ctx context.Context, c client.Client, namespace, kind, reason string) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	err := c.List(ctx, list, client.InNamespace(namespace))
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.Kind != kind || e.Reason != reason }), err
}

// Told waits for an Event that regards an object, with a reason and a note that contains the
// words.
func Told(t *testing.T, c client.Client, namespace, kind, name, reason, words string) (found eventsv1.Event) {
	t.Helper()
	Eventually(t, fmt.Sprintf("Event %s about %s %s/%s", reason, kind, namespace, name), func() error {
		all, err := Events(t.Context(), c, namespace, kind, reason)
		i := slices.IndexFunc(all, func(e eventsv1.Event) bool { return e.Regarding.Name == name && strings.Contains(e.Note, words) })
		if i < 0 {
			return errors.Join(err, fmt.Errorf("no Event matches; %d other Events have this reason", len(all)))
		}
		found = all[i]
		return nil
	})
	return found
}

// Permit replaces the member permissions on the broker, as the broker's administrators would.
func Permit(t *testing.T, onBroker client.Client, data map[string]string) {
	t.Helper()
	config := objects.Permissions(nil)
	_, err := controllerutil.CreateOrUpdate(context.WithoutCancel(t.Context()), onBroker, config, func() error {
		config.Data = data
		return nil
	})
	NoError(t, err)
}

// Exporters lists the clusters in an import's status, in the order of the status.
func Exporters(imp *mcsv1beta1.ServiceImport) (ids []string) {
	for _, c := range imp.Status.Clusters {
		ids = append(ids, c.Cluster)
	}
	return ids
}

// PolicyExport waits until an agent has created a ServiceExport for a MultiClusterService, or
// until the ServiceExport is deleted.
func PolicyExport(t *testing.T, c client.Client, namespace, name string, want bool) {
	t.Helper()
	e := objects.Export(namespace, name)
	if !want {
		Gone(t, c, e)
		return
	}
	Until(t, "ServiceExport "+name, c, e, func() error {
		if e.Labels[names.LabelManagedBy] != names.AgentManager {
			return fmt.Errorf("its labels are %v", e.Labels)
		}
		return nil
	})
}

// Imported returns nil if a service is imported from exactly these clusters.
func Imported(ctx context.Context, c client.Client, namespace, name string, from ...string) error {
	imp := &mcsv1beta1.ServiceImport{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, imp); err != nil {
		return err
	}
	if have := Exporters(imp); !slices.Equal(slices.Sorted(slices.Values(have)), from) {
		return fmt.Errorf("the import comes from %v, want %v", have, from)
	}
	return nil
}

// Managed selects the EndpointSlices that agents manage.
var Managed = client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}

// Endpoints returns the sorted addresses of all EndpointSlices that agents manage.
func Endpoints(ctx context.Context, c client.Client, of ...client.ListOption) (all []string, err error) {
	list := &discoveryv1.EndpointSliceList{}
	err = c.List(ctx, list, append(of, Managed)...)
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			all = append(all, e.Addresses...)
		}
	}
	slices.Sort(all)
	return all, err
}

// Refused requires that an attempt is forbidden with a message that contains these words.
func Refused(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s was allowed", what)
	case !apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied request"): // by RBAC, or by an admission policy
		t.Errorf("%s failed for another reason: %v", what, err)
	default:
		Says(t, what, err.Error(), words...)
	}
}

// Says requires that a text contains these words.
func Says(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: does not say %q but\n%s", what, w, text)
		}
	}
}

// AsAccount returns a client configuration that authenticates as a service account.
func AsAccount(t *testing.T, c client.Client, config *rest.Config, namespace, account string) *rest.Config {
	t.Helper()
	as := rest.AnonymousClientConfig(config)
	as.BearerToken = Token(t, c, namespace, account)
	return as
}

// Token returns a token of an account.
func Token(t *testing.T, c client.Client, namespace, account string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	NoError(t, c.SubResource("token").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}, request))
	return request.Status.Token
}

// Membership reads the cluster's membership Secret.
func Membership(t *testing.T, c client.Client) (credential.Membership, *corev1.Secret) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: credential.SecretName}}
	Read(t, c, secret)
	m, err := credential.FromSecret(secret)
	NoError(t, err)
	return m, secret
}

// AsMember connects to the broker with a member's credentials.
func AsMember(t *testing.T, m credential.Membership) client.WithWatch {
	t.Helper()
	c, err := broker.Connect(broker.NewToken(m.Token, nil).Config(m))
	NoError(t, err)
	return c
}
