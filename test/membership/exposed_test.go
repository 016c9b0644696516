package membership

import (
	"context"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// deployHub deploys a hub with the command and runs it with its own permissions until the test
// ends. The returned function restarts the hub.
func deployHub(t *testing.T, flags string, change ...func(*hub.Options)) (restart func(meanwhile ...func())) {
	t.Helper()
	must(t, "", "hub deploy --no-workloads --context broker "+flags)
	config, err := theLab.RESTConfig(lab.Broker)
	noError(t, err)
	config = planes.AsAccount(t, on[lab.Broker], config, names.HubNamespace, names.HubAccount)
	options := hub.Options{
		Config: config, Clusterset: "atoll-clusterset", MetricsAddress: "0", HealthAddress: "0",
		Provider: "embedded", AbandonAfter: time.Second,
	}
	for _, f := range change {
		f(&options)
	}
	stop := runHub(t, options)
	t.Cleanup(func() {
		stop()
		must(t, "", "hub remove --yes --context broker")
	})
	return func(meanwhile ...func()) {
		stop()
		for _, f := range meanwhile {
			f()
		}
		stop = runHub(t, options)
	}
}

func runHub(t *testing.T, options hub.Options) (stop func()) {
	return background(t, "the hub has ended", func(ctx context.Context) error {
		return hub.Run(ctx, options, slog.New(slog.NewTextHandler(t.Output(), nil)))
	})
}

// expose creates a MultiClusterService of type CrossCluster as soon as the API server accepts
// it.
func expose(t *testing.T, namespace, name string, consumers ...string) *networkingv1alpha1.MultiClusterService {
	t.Helper()
	mcs := objects.Exposed(namespace, name, networkingv1alpha1.ExposureTypeCrossCluster)
	mcs.Spec.Range.ClusterNames = consumers
	eventually(t, "the broker accepts the MultiClusterService", func() error { return on[lab.Broker].Create(t.Context(), mcs) })
	planes.CleanUp(t, on[lab.Broker], mcs)
	return mcs
}

// expectCondition waits for a condition with a status and a message that contains the words.
func expectCondition(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, kind string, status metav1.ConditionStatus, words string) {
	t.Helper()
	planes.Condition(t, on[lab.Broker], mcs, kind, string(status), words)
}

// A cluster joins, leaves and joins again while MultiClusterServices exist. It counts as a
// consumer if the spec names no clusters. If the spec names it before it has joined, there is
// only a warning. When it leaves, agents delete everything that they created for it, in all
// clusters. Objects of users stay.
func TestMultiClusterServicesFollowMembers(t *testing.T) {
	const ns = "followed"
	deployBroker(t)
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
	planes.PolicyExport(t, on["c1"], ns, "named", true)
	expectCondition(t, all, "ClustersFound", metav1.ConditionTrue, "")
	expectCondition(t, named, "ClustersFound", metav1.ConditionFalse, `until they join: "c2.eu"`)
	if e := planes.Told(t, on[lab.Broker], ns, "MultiClusterService", "named", "NoSuchCluster", ""); e.Type != corev1.EventTypeWarning {
		t.Errorf("the Event is %s", e.Type)
	}

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
		planes.PolicyExport(t, on["c2"], ns, "named", true)
		expectCondition(t, named, "ClustersFound", metav1.ConditionTrue, "")
		expectCondition(t, named, "Exported", metav1.ConditionTrue, `The Service is exported by "c1", "c2.eu" to "c2.eu"`)
		if err := planes.Imported(t.Context(), on["c1"], ns, "named"); !apierrors.IsNotFound(err) {
			t.Errorf("c1 is not a consumer but has an import: %v", err)
		}

		if round == 1 { // a user has applied one of them by now
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`))
			noError(t, on["c2"].Patch(t.Context(), applied, patch))
		}

		stop() // as its pods are when their Deployment is deleted
		says(t, "", "leave --yes --context c2", "No other cluster exports service followed/own:", "endpoints of 2 services (followed/all, followed/named)")
		expectImport(t, "c1", ns, "all", "c1")
		planes.PolicyExport(t, on["c2"], ns, "all", false)
		if round == 0 {
			planes.PolicyExport(t, on["c2"], ns, "named", false)
		} else if err := on["c2"].Get(t.Context(), client.ObjectKeyFromObject(applied), applied); err != nil || len(applied.Labels) > 0 {
			t.Errorf("the export that a user applied over the agent's has the labels %v, error %v", applied.Labels, err)
		}
		expectCondition(t, named, "ClustersFound", metav1.ConditionFalse, `"c2.eu"`)
		expectCondition(t, named, "Exported", metav1.ConditionTrue, `The Service is exported by "c1" to "c2.eu"`)
		expectCondition(t, all, "Exported", metav1.ConditionTrue, `The Service is exported by "c1" to all`)
		planes.Read(t, on["c2"], export(ns, "own")) // the user's
		expectGone(t, "c1", objects.Import(ns, "own"))
	}
	for _, mcs := range []*networkingv1alpha1.MultiClusterService{all, named} {
		planes.Delete(t, on[lab.Broker], mcs)
		planes.PolicyExport(t, on["c1"], ns, mcs.Name, false)
	}
	stopFirst()
	must(t, "", "leave --yes --context c1")
	for _, e := range []client.Object{export(ns, "own"), applied} {
		planes.Delete(t, on["c2"], e)
	}
	must(t, "", "leave --yes --context c2") // c2 still has the CRD
}
