package membership

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
)

// deployHub puts a hub beside the broker, by the command and its flags, and runs it with the rights that it has there,
// until the test ends. It returns what ends that one and runs another.
func deployHub(t *testing.T, flags string, change ...func(*hub.Options)) (restart func()) {
	t.Helper()
	ports, err := lab.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address := ports[0].String()
	must(t, "", fmt.Sprintf("hub deploy --no-workloads --webhook-url https://%s/ --context broker %s", address, flags))
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: names.HubNamespace, Name: names.HubAccount}}
	if err := on[lab.Broker].SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	config, err := theLab.RESTConfig(lab.Broker)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = request.Status.Token
	options := hub.Options{
		Config: config, Clusterset: "atoll-clusterset", WebhookAddress: address, MetricsAddress: "0", HealthAddress: "0",
		Provider: "embedded", AbandonAfter: time.Second,
	}
	for _, f := range change {
		f(&options)
	}
	stop := runHub(t, options)
	t.Cleanup(func() {
		stop()
		must(t, "", "hub remove --context broker")
	})
	return func() {
		stop()
		stop = runHub(t, options)
	}
}

func runHub(t *testing.T, options hub.Options) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := hub.Run(ctx, options, slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
			t.Errorf("the hub has ended: %v", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// expose creates a MultiClusterService of the type CrossCluster as soon as the hub lets it.
func expose(t *testing.T, namespace, name string, consumers ...string) *networkingv1alpha1.MultiClusterService {
	t.Helper()
	mcs := &networkingv1alpha1.MultiClusterService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: networkingv1alpha1.MultiClusterServiceSpec{
			Types: []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeCrossCluster},
			Range: networkingv1alpha1.ExposureRange{ClusterNames: consumers},
		},
	}
	eventually(t, "the hub's webhook answers", func() error { return on[lab.Broker].Create(t.Context(), mcs) })
	t.Cleanup(func() {
		if err := on[lab.Broker].Delete(context.Background(), mcs); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return mcs
}

// expectCondition waits for a condition with a status, and a message that has the words.
func expectCondition(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, kind string, status metav1.ConditionStatus, words string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s of %s being %s", kind, mcs.Name, status), func() error {
		if err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(mcs), mcs); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(mcs.Status.Conditions, kind); c == nil || c.Status != status || !strings.Contains(c.Message, words) {
			return fmt.Errorf("there is %+v", mcs.Status.Conditions)
		}
		return nil
	})
}

// expectWarning waits for a warning Event about an object.
func expectWarning(t *testing.T, namespace, name, reason string) {
	t.Helper()
	eventually(t, "warning "+reason+" about "+name, func() error {
		list := &eventsv1.EventList{}
		if err := on[lab.Broker].List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Name == name && e.Reason == reason && e.Type == corev1.EventTypeWarning {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(list.Items))
	})
}

// expectPolicyExport waits until a cluster has a ServiceExport that its agent has made, or none at all.
func expectPolicyExport(t *testing.T, cluster, namespace, name string, want bool) {
	t.Helper()
	if !want {
		expectGone(t, cluster, export(namespace, name))
		return
	}
	eventually(t, "ServiceExport "+name+" in "+cluster, func() error {
		e := export(namespace, name)
		if err := on[cluster].Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			return err
		}
		if e.Labels[names.LabelManagedBy] != names.AgentManager {
			return fmt.Errorf("its labels are %v", e.Labels)
		}
		return nil
	})
}

// While MultiClusterServices stand, a cluster joins, leaves and joins again. Where no clusters are named it is one of them;
// where it is named before it is a member, there is a warning, and nothing else until it is one. When it leaves, what
// was made because of it goes, in it and elsewhere, and what people made stays.
func TestMultiClusterServicesFollowMembers(t *testing.T) {
	const ns = "followed"
	must(t, "", "broker deploy --context broker")
	deployHub(t, "")
	for _, c := range clusters {
		create(t, c, namespace(ns))
		for _, name := range []string{"all", "named", "own"} {
			create(t, c, service(ns, name))
		}
	}
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	stopFirst := startAgent(t, asAgent(t, "c1"), t.Output())
	all, named := expose(t, ns, "all"), expose(t, ns, "named", "c2.eu")
	expectImport(t, "c1", ns, "all", "c1")
	expectPolicyExport(t, "c1", ns, "named", true)
	expectCondition(t, all, "ClustersFound", metav1.ConditionTrue, "")
	expectCondition(t, named, "ClustersFound", metav1.ConditionFalse, `until it joins: "c2.eu"`)
	expectWarning(t, ns, "named", "NoSuchCluster")

	applied := export(ns, "named")
	for round := range 2 {
		must(t, joinFile(t, "c2.eu"), "join - --no-workloads --context c2")
		if round == 0 {
			create(t, "c2", export(ns, "own"))
		}
		stop := startAgent(t, asAgent(t, "c2"), t.Output())
		for _, c := range []string{"c1", "c2"} {
			expectImport(t, c, ns, "all", "c1", "c2.eu")
		}
		expectImport(t, "c2", ns, "named", "c1", "c2.eu")
		expectImport(t, "c1", ns, "own", "c2.eu")
		expectPolicyExport(t, "c2", ns, "named", true)
		expectCondition(t, named, "ClustersFound", metav1.ConditionTrue, "")
		expectCondition(t, named, "Exported", metav1.ConditionTrue, `Exported by "c1", "c2.eu", to "c2.eu"`)
		if err := imported(t.Context(), "c1", ns, "named"); !apierrors.IsNotFound(err) {
			t.Errorf("c1 is no consumer, and has an import: %v", err)
		}

		if round == 1 { // one is a person's too by now
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`))
			if err := on["c2"].Patch(t.Context(), applied, patch); err != nil {
				t.Fatal(err)
			}
		}

		stop() // as its pods are when their Deployment is deleted
		must(t, "", "leave --context c2")
		expectImport(t, "c1", ns, "all", "c1")
		expectPolicyExport(t, "c2", ns, "all", false)
		if round == 0 {
			expectPolicyExport(t, "c2", ns, "named", false)
		} else if err := on["c2"].Get(t.Context(), client.ObjectKeyFromObject(applied), applied); err != nil || len(applied.Labels) > 0 {
			t.Errorf("what was applied over the agent's: %v, %v", applied.Labels, err)
		}
		expectCondition(t, named, "ClustersFound", metav1.ConditionFalse, `"c2.eu"`)
		expectCondition(t, named, "Exported", metav1.ConditionTrue, `Exported by "c1", to "c2.eu"`)
		expectCondition(t, all, "Exported", metav1.ConditionTrue, `Exported by "c1", to all`)
		if err := on["c2"].Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "own"}, export(ns, "own")); err != nil {
			t.Errorf("the user's own export: %v", err)
		}
		eventually(t, "what was imported from it is gone", func() error {
			if err := imported(t.Context(), "c1", ns, "own"); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %v", err)
			}
			return nil
		})
	}
	for _, mcs := range []*networkingv1alpha1.MultiClusterService{all, named} {
		if err := on[lab.Broker].Delete(t.Context(), mcs); err != nil {
			t.Fatal(err)
		}
		expectPolicyExport(t, "c1", ns, mcs.Name, false)
	}
	stopFirst()
	must(t, "", "leave --context c1")
	for _, e := range []client.Object{export(ns, "own"), applied} {
		if err := on["c2"].Delete(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	must(t, "", "leave --context c2") // which has that definition still
}
