package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

var (
	eventually      = planes.Eventually
	noError         = planes.NoError
	expectForbidden = planes.Refused
	service         = objects.Service
	slice           = objects.Slice
	export          = objects.Export
)

// namespace creates a namespace in the clusters and deletes it after the test.
func namespace(t *testing.T, name string, clusters ...string) {
	t.Helper()
	for _, cluster := range clusters {
		temporary(t, cluster, objects.Namespace(name))
	}
}

func create(t *testing.T, cluster string, all ...client.Object) {
	t.Helper()
	planes.Create(t, on[cluster], all...)
}

// temporary creates objects that are in no namespace of the test, and deletes them after the
// test.
func temporary(t *testing.T, cluster string, all ...client.Object) {
	t.Helper()
	planes.Create(t, on[cluster], all...)
	planes.CleanUp(t, on[cluster], all...)
}

func remove(t *testing.T, cluster string, all ...client.Object) {
	t.Helper()
	planes.Delete(t, on[cluster], all...)
}

func change[T client.Object](t *testing.T, cluster string, object T, f func(T)) {
	t.Helper()
	planes.Change(t, on[cluster], object, f)
}

// expectGone waits until the objects are deleted in each of the comma-separated clusters.
func expectGone(t *testing.T, clusters string, all ...client.Object) {
	t.Helper()
	for cluster := range strings.SplitSeq(clusters, ",") {
		planes.Gone(t, on[cluster], all...)
	}
}

// mark sets a label or an annotation of a namespace, or removes it if value is "". The cleanup
// removes it.
func mark(t *testing.T, cluster, namespace, in, key, value string) {
	t.Helper()
	set := func(value string) error {
		patch := fmt.Appendf(nil, `{"metadata":{%q:{%q:%q}}}`, in, key, value)
		if value == "" {
			patch = fmt.Appendf(nil, `{"metadata":{%q:{%q:null}}}`, in, key)
		}
		return on[cluster].Patch(context.WithoutCancel(t.Context()), objects.Namespace(namespace), client.RawPatch(types.MergePatchType, patch))
	}
	noError(t, set(value))
	t.Cleanup(func() { noError(t, client.IgnoreNotFound(set(""))) })
}

// share exports a Service with port 80 and a slice of these addresses, and returns its
// ServiceExport.
func share(t *testing.T, cluster, namespace, name string, addresses ...string) *mcsv1beta1.ServiceExport {
	t.Helper()
	e := export(namespace, name)
	create(t, cluster, service(namespace, name, 80), slice(namespace, name+"-x", name, addresses...), e)
	return e
}

// setPorts replaces the ports of a Service.
func setPorts(t *testing.T, cluster string, s *corev1.Service, ports ...int32) {
	t.Helper()
	change(t, cluster, s, func(s *corev1.Service) { s.Spec.Ports = service(s.Namespace, s.Name, ports...).Spec.Ports })
}

// expectImport waits in each cluster for a ServiceImport that passes check, and returns the
// import of the last cluster.
func expectImport(t *testing.T, clusters, namespace, name string, check func(*mcsv1beta1.ServiceImport) error) (imp *mcsv1beta1.ServiceImport) {
	t.Helper()
	for cluster := range strings.SplitSeq(clusters, ",") {
		imp = objects.Import(namespace, name)
		planes.Until(t, fmt.Sprintf("ServiceImport %s/%s in %s", namespace, name, cluster), on[cluster], imp, func() error { return check(imp) })
	}
	return imp
}

// stop kills a program of the lab. The cleanup starts it, unless the test did.
func stop(t *testing.T, unit string) {
	t.Helper()
	noError(t, theLab.Kill(t.Context(), unit))
	t.Cleanup(func() { noError(t, theLab.Start(context.Background(), unit)) })
}

func start(t *testing.T, units ...string) {
	t.Helper()
	for _, unit := range units {
		noError(t, theLab.Start(t.Context(), unit))
	}
}

// restarted restarts a cluster's agent with changed arguments. The cleanup restores the
// arguments.
func restarted(t *testing.T, cluster string, change func(args []string) []string) {
	t.Helper()
	units, err := theLab.Units()
	noError(t, err)
	usual := units[slices.IndexFunc(units, func(u lab.Unit) bool { return u.String() == cluster+"/agent" })]
	changed := usual
	changed.Argv = change(slices.Clone(usual.Argv))
	t.Cleanup(func() { noError(t, theLab.Run(context.Background(), usual)) })
	noError(t, theLab.Run(t.Context(), changed))
}

// expectCondition waits in each cluster for a condition of a ServiceExport, and returns the
// condition of the last cluster.
func expectCondition(t *testing.T, clusters string, e *mcsv1beta1.ServiceExport, kind string, status metav1.ConditionStatus, reason string) (c metav1.Condition) {
	t.Helper()
	for cluster := range strings.SplitSeq(clusters, ",") {
		c = planes.Condition(t, on[cluster], e, kind, string(status)+"/"+reason, "")
	}
	return c
}

// hasIP checks that an import has a clusterset IP.
func hasIP(imp *mcsv1beta1.ServiceImport) error {
	if len(imp.Spec.IPs) != 1 || !meta.IsStatusConditionTrue(imp.Status.Conditions, "Ready") {
		return fmt.Errorf("no clusterset IP or not ready: %+v", imp)
	}
	return nil
}

// from checks that an import has a clusterset IP and comes from these clusters.
func from(clusters ...string) func(*mcsv1beta1.ServiceImport) error {
	return func(imp *mcsv1beta1.ServiceImport) error {
		if have := planes.Exporters(imp); !slices.Equal(have, clusters) {
			return fmt.Errorf("the import comes from %v, want %v", have, clusters)
		}
		return hasIP(imp)
	}
}

// says checks that the message of an import's condition Ready contains all words.
func says(words ...string) func(*mcsv1beta1.ServiceImport) error {
	return func(imp *mcsv1beta1.ServiceImport) error {
		ready := ptr.Deref(meta.FindStatusCondition(imp.Status.Conditions, "Ready"), metav1.Condition{})
		for _, w := range words {
			if !strings.Contains(ready.Message, w) {
				return fmt.Errorf("condition Ready does not contain %q: %q", w, ready.Message)
			}
		}
		return nil
	}
}

// isHeadless checks that an import is headless.
func isHeadless(imp *mcsv1beta1.ServiceImport) error {
	if imp.Spec.Type != mcsv1beta1.Headless {
		return fmt.Errorf("the import is of type %s, want Headless", imp.Spec.Type)
	}
	return nil
}

// withPorts checks that an import has exactly these port numbers and passes the check rest.
func withPorts(rest func(*mcsv1beta1.ServiceImport) error, want ...int32) func(*mcsv1beta1.ServiceImport) error {
	return func(imp *mcsv1beta1.ServiceImport) error {
		if have := numbers(imp.Spec.Ports); !slices.Equal(have, want) {
			return fmt.Errorf("the import has the ports %v, want %v", have, want)
		}
		return rest(imp)
	}
}

func numbers(ports []mcsv1beta1.ServicePort) (all []int32) {
	for _, p := range ports {
		all = append(all, p.Port)
	}
	return all
}

// expectAddresses waits until the imported slices of a namespace hold just these
// addresses, as cluster/address, in each of these clusters.
func expectAddresses(t *testing.T, clusters, namespace string, want ...string) {
	t.Helper()
	slices.Sort(want)
	for cluster := range strings.SplitSeq(clusters, ",") {
		eventually(t, "endpoints of "+namespace+" in "+cluster, func() error {
			var have []string
			for _, s := range slicesOf(t, cluster, namespace) {
				for _, e := range s.Endpoints {
					have = append(have, s.Labels["multicluster.kubernetes.io/source-cluster"]+"/"+e.Addresses[0])
				}
			}
			slices.Sort(have)
			if have = slices.Compact(have); !slices.Equal(have, want) {
				return fmt.Errorf("have %v, want %v", have, want)
			}
			return nil
		})
	}
}

// saysNoMore waits until a ServiceExport of c1 is Ready and its message does not contain the
// words.
func saysNoMore(t *testing.T, e *mcsv1beta1.ServiceExport, words string) {
	t.Helper()
	eventually(t, "the condition no longer mentions it", func() error {
		if ready := expectCondition(t, "c1", e, "Ready", metav1.ConditionTrue, "Exported"); strings.Contains(ready.Message, words) {
			return fmt.Errorf("condition Ready still says %s", ready.Message)
		}
		return nil
	})
}

// said identifies a test's Events by reason, kind and namespace.
type said struct {
	t                                *testing.T
	cluster, namespace, kind, reason string
}

// lastSaid holds the latest expected number of Events, by said.
var lastSaid sync.Map

// expectSaid waits for n Events with a reason about objects of a kind in a namespace, none of
// them repeated. At the end of the test, the number must equal the last expectation.
func expectSaid(t *testing.T, cluster, namespace, kind, reason string, n int) {
	t.Helper()
	of := said{t, cluster, namespace, kind, reason}
	what := fmt.Sprintf("%d Events %s about %ss in %s", n, reason, kind, namespace)
	eventually(t, what, func() error { return of.count(t.Context(), n) })
	if _, again := lastSaid.Swap(of, n); again {
		return
	}
	t.Cleanup(func() { // before the namespace is deleted
		last, _ := lastSaid.LoadAndDelete(of)
		if err := of.count(context.Background(), last.(int)); err != nil && !t.Failed() {
			t.Errorf("%d Events %s about %ss in %s, at the end: %v", last, reason, kind, namespace, err)
		}
	})
}

func (of said) count(ctx context.Context, n int) error {
	all, err := planes.Events(ctx, on[of.cluster], of.namespace, of.kind, of.reason)
	for _, e := range all {
		if e.Series != nil {
			return fmt.Errorf("said %d times: %s", e.Series.Count, e.Note)
		}
	}
	if err == nil && len(all) != n {
		err = fmt.Errorf("there are %d", len(all))
	}
	return err
}

// expectUntouched checks that no program has written the objects since the test created or read
// them.
func expectUntouched(t *testing.T, cluster string, all ...client.Object) {
	t.Helper()
	for _, o := range all {
		now := o.DeepCopyObject().(client.Object)
		planes.Read(t, on[cluster], now)
		expectUnwritten(t, fmt.Sprintf("%T %s", o, o.GetName()), o, now)
	}
}

func expectUnwritten(t *testing.T, what string, before, now client.Object) {
	t.Helper()
	if now.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("%s was written:\n%s", what, cmp.Diff(before, now))
	}
}
