package shift

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// world is a clusterset with one importing cluster, whose agent answers each write of a policy.
type world struct {
	*place
	t *testing.T
	// refuses is why the agent does not accept policies, if set. ignores is set if it does not write status.
	refuses string
	ignores bool
	// unreachable makes reads fail.
	unreachable bool
	// others are worlds of further contexts.
	others []*world
	// wrote are the weights of each write.
	wrote []string
}

// newWorld has cluster c3, which imports shop/web from c1 (3 endpoints), c2 (2) and c3 (1).
func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), trafficv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t}
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{names.LabelManagedBy: names.AgentManager}},
		Status:     mcsv1beta1.ServiceImportStatus{Clusters: []mcsv1beta1.ClusterStatus{{Cluster: "c1"}, {Cluster: "c2"}, {Cluster: "c3"}}},
	}
	objects = append(objects, imp, slice("c1", 3), slice("c2", 2), slice("c3", 1))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&trafficv1alpha1.TrafficPolicy{}).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if w.unreachable {
					return errors.New("connection refused")
				}
				return c.List(ctx, list, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				o.SetUID(types.UID(o.GetName()))
				if err := c.Create(ctx, o, opts...); err != nil {
					return err
				}
				return w.answer(ctx, c, o)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if err := c.Patch(ctx, o, patch, opts...); err != nil {
					return err
				}
				return w.answer(ctx, c, o)
			},
		}).Build()
	w.place = &place{Client: c, id: "c3", service: web, kind: mcsv1beta1.ServiceImportKindName, on: command.At("", "c3"), broker: &survey.Broker{}}
	return w
}

// answer writes the status as an agent does.
func (w *world) answer(ctx context.Context, c client.Client, o client.Object) error {
	policy, ok := o.DeepCopyObject().(*trafficv1alpha1.TrafficPolicy)
	if !ok || w.ignores {
		return nil
	}
	if weights := weightsText(policy.Spec.Weights); len(w.wrote) == 0 || w.wrote[len(w.wrote)-1] != weights {
		w.wrote = append(w.wrote, weights)
	}
	one := trafficv1alpha1.TargetStatus{Kind: w.kind, Name: "web", Conditions: []metav1.Condition{{Type: trafficv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now()}}}
	if w.refuses != "" {
		one.Conditions[0].Status, one.Conditions[0].Reason, one.Conditions[0].Message = metav1.ConditionFalse, "Invalid", w.refuses
	}
	if w.kind == mcsv1beta1.ServiceImportKindName {
		for _, weight := range policy.Spec.Weights {
			one.Weights = append(one.Weights, trafficv1alpha1.WeightStatus{Cluster: weight.Cluster, SharePercent: ptr.To(weight.Weight), Active: 1})
		}
	}
	policy.Status.Targets = []trafficv1alpha1.TargetStatus{one}
	return c.Status().Update(ctx, policy)
}

func slice(cluster string, n int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-" + cluster, Labels: map[string]string{
		discoveryv1.LabelManagedBy: names.AgentManager, names.LabelServiceName: "web", names.LabelSourceCluster: cluster,
	}}, AddressType: discoveryv1.AddressTypeIPv4}
	for i := range n {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.%s.0.%d", cluster[1:], i)}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	return s
}

// scale sets the number of ready endpoints of a cluster.
func (w *world) scale(cluster string, n int) {
	w.t.Helper()
	w.setSlice(slice(cluster, n))
}

// standby puts c2's endpoints on standby.
func (w *world) standby(reason string) {
	w.t.Helper()
	s := slice("c2", 2)
	s.Labels[names.LabelStandby] = reason
	for i := range s.Endpoints {
		s.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
	}
	w.setSlice(s)
}

func (w *world) setSlice(s *discoveryv1.EndpointSlice) {
	w.t.Helper()
	have := &discoveryv1.EndpointSlice{}
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(s), have); err != nil {
		w.t.Fatal(err)
	}
	s.ResourceVersion = have.ResourceVersion
	if err := w.Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) one(name string) *trafficv1alpha1.TrafficPolicy {
	policy := &trafficv1alpha1.TrafficPolicy{}
	if err := w.Get(w.t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, policy); err != nil {
		return nil
	}
	return policy
}

func policyOf(name string, change func(*trafficv1alpha1.TrafficPolicy)) *trafficv1alpha1.TrafficPolicy {
	policy := &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	policy.Spec.TargetRefs = []trafficv1alpha1.LocalPolicyTargetReference{{Group: mcsv1beta1.GroupName, Kind: mcsv1beta1.ServiceImportKindName, Name: "web"}}
	if change != nil {
		change(policy)
	}
	return policy
}

// run runs the command after its connection, and returns what it prints.
func (w *world) run(ctx context.Context, change func(*options)) (string, error) {
	o := &options{to: "c2", steps: []int{10, 50, 100}, every: 20 * time.Second, service: web, on: w.on}
	if change != nil {
		change(o)
	}
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	run := o.shift
	if o.undo {
		run = o.restoreAll
	}
	p := *w.place // each command reads again
	places := []*place{&p}
	for _, other := range w.others {
		q := *other.place
		places = append(places, &q)
	}
	err := run(cmd, places)
	return out.String(), err
}

func undo(o *options) { o.undo, o.to = true, "" }

func has(t *testing.T, out string, err error, want string) {
	t.Helper()
	if err != nil {
		out += err.Error()
	}
	if !strings.Contains(out, want) {
		t.Errorf("%q does not have %q", out, want)
	}
}

// The shift goes step by step, each as long as --every says, and --undo deletes the policy that it created.
func TestShift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		out, err := w.run(t.Context(), nil)
		if took := time.Since(began); err != nil || took < time.Minute || took > time.Minute+10*time.Second {
			t.Errorf("%v after %v: %s", err, took, out)
		}
		// 10, 50 and 100 %; c1 has three endpoints, c3 one.
		if got := strings.Join(w.wrote, "; "); got != "c2=4 c1=27 c3=9; c2=4 c1=3 c3=1; c2=1 c1=0 c3=0" {
			t.Error(got)
		}
		has(t, out, nil, "c3: 50 % to c2: c2 4 % (1 active), c1 3 % (1 active), c3 1 % (1 active)\n")
		has(t, out, nil, "undo: atoll shift shop/web --undo --context c3\n")
		out, err = w.run(t.Context(), nil)
		has(t, out, err, "all steps are already complete")
		out, err = w.run(t.Context(), func(o *options) { undo(o); o.dryRun = true })
		if has(t, out, err, "is deleted, as there was none before the shift (dry run"); w.one("web-shift") == nil {
			t.Error("the dry run deleted the policy")
		}
		out, err = w.run(t.Context(), undo)
		if has(t, out, err, "c3: TrafficPolicy shop/web-shift is deleted"); w.one("web-shift") != nil {
			t.Error("the policy is still there")
		}
		out, err = w.run(t.Context(), undo)
		has(t, out, err, "c3: there is no shift of service shop/web to undo")
	})
}

// An existing policy keeps its name, and gets its weights back.
func TestExistingPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policyOf("mine", func(p *trafficv1alpha1.TrafficPolicy) {
			p.Spec.Weights = []trafficv1alpha1.ClusterWeight{{Cluster: "c1", Weight: 80}, {Cluster: "c3", Weight: 20}}
		}))
		out, err := w.run(t.Context(), func(o *options) { o.steps = []int{50} })
		has(t, out, err, "c3: 50 % to c2")
		// More steps to the same cluster, and the way back is still to the first weights.
		out, err = w.run(t.Context(), func(o *options) { o.steps = []int{100} })
		has(t, out, err, "c3: 100 % to c2")
		if got := strings.Join(w.wrote, "; "); got != "c2=5 c1=4 c3=1; c2=1 c1=0 c3=0" {
			t.Error(got)
		}
		// Somebody changes the weights: the same command moves the traffic again.
		p := w.one("mine")
		p.Spec.Weights = []trafficv1alpha1.ClusterWeight{{Cluster: "c1", Weight: 1}, {Cluster: "c2", Weight: 1}}
		if err := w.Client.Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		out, err = w.run(t.Context(), func(o *options) { o.steps = []int{100} })
		has(t, out, err, "c3: 100 % to c2")
		out, err = w.run(t.Context(), undo)
		has(t, out, err, "c3: TrafficPolicy shop/mine has its earlier weights: c1=80 c3=20")
		if p := w.one("mine"); weightsText(p.Spec.Weights) != "c1=80 c3=20" || len(p.Annotations) > 0 || w.one("web-shift") != nil {
			t.Errorf("%+v", p)
		}
	})
}

// An interrupted shift goes on with the step that was not complete, and refuses another target or other steps.
func TestInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		out, err := w.run(ctx, nil)
		has(t, out, err, "stopped at 50 %: interrupted\nThe weights stay as they are.\ngo on: atoll shift shop/web --to c2 --steps 10,50,100 --every 20s --context c3\nundo:  atoll shift shop/web --undo --context c3")
		for _, change := range []func(*options){func(o *options) { o.to = "c1" }, func(o *options) { o.steps = []int{20, 100} }} {
			out, err = w.run(t.Context(), change)
			has(t, out, err, "another shift of service shop/web to cluster c2 is going on in cluster c3 (--steps 10,50,100; 1 done)\ngo on: atoll shift shop/web --to c2 --steps 10,50,100")
		}
		if out, err = w.run(t.Context(), nil); err != nil || strings.Contains(out, "c3: 10 %") || !strings.Contains(out, "c3: 50 %") {
			t.Errorf("%v, %s", err, out)
		}
		out, err = w.run(t.Context(), func(o *options) { o.to, o.steps = "c1", []int{100} })
		has(t, out, err, "c3: 100 % to c1") // the shift to c2 is complete
	})
}

// The shift stops when the target has fewer ready endpoints than at the beginning of the step, and when its policy no longer applies.
func TestStops(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*world)
		want   string
	}{
		"fewer endpoints": {func(w *world) { w.scale("c2", 1) }, "stopped at 10 %: cluster c2 has fewer ready endpoints of service shop/web than when the step began, as cluster c3 sees it: 1 instead of 2\n"},
		"no endpoint":     {func(w *world) { w.scale("c2", 0) }, "cluster c2 no longer has a ready endpoint of service shop/web, as cluster c3 sees it; it had 2"},
		"it is drained":   {func(w *world) { w.standby("Drained") }, "cluster c2 no longer has a ready endpoint of service shop/web, as cluster c3 sees it; it had 2"},
		"it is deleted":   {func(w *world) { _ = w.Delete(w.t.Context(), w.one("web-shift")) }, "somebody has deleted TrafficPolicy shop/web-shift"},
		"it is changed": {func(w *world) {
			p := w.one("web-shift")
			p.Spec.Weights[0].Weight = 77
			_ = w.Update(w.t.Context(), p)
		}, "somebody has changed TrafficPolicy shop/web-shift"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				time.AfterFunc(10*time.Second, func() { tt.change(w) })
				began := time.Now()
				out, err := w.run(t.Context(), nil)
				if has(t, out, err, tt.want); err == nil || time.Since(began) > 13*time.Second {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				if p := w.one("web-shift"); p != nil && p.Annotations[names.AnnotationShiftEarlier] != none {
					t.Errorf("%+v", p.Annotations)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // standby counts as ready, and other clusters' endpoints do not count
		w := newWorld(t)
		time.AfterFunc(10*time.Second, func() {
			w.scale("c1", 0)
			w.standby("BeyondShare")
		})
		if out, err := w.run(t.Context(), nil); err != nil {
			t.Errorf("%v, %s", err, out)
		}
	})
}

// Several clusters go together. Nothing is written in any if one refuses, and one that is ahead waits for the others.
func TestSeveralClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, other := newWorld(t), newWorld(t)
		other.id, w.others = "c1", []*world{other}
		other.scale("c2", 0)
		out, err := w.run(t.Context(), nil)
		if has(t, out, err, "cluster c2 has no ready endpoint of service shop/web, as cluster c1 sees it"); len(w.wrote) > 0 {
			t.Error(w.wrote)
		}
		other.scale("c2", 2)
		w.others = nil
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		out, err = w.run(ctx, nil)
		has(t, out, err, "stopped at 50 %")
		w.others = []*world{other}
		out, err = w.run(t.Context(), nil)
		if err != nil || strings.Contains(out, "c3: 10 %") || !strings.Contains(out, "c1: 10 %") || strings.Count(out, "50 %") != 2 || strings.Count(out, "100 %") != 2 {
			t.Errorf("%v, %s", err, out)
		}
		out, err = w.run(t.Context(), undo)
		if has(t, out, err, "c1: TrafficPolicy shop/web-shift is deleted"); w.one("web-shift") != nil || other.one("web-shift") != nil {
			t.Error(out)
		}
	})
}

// A cluster may be unreachable for less than a minute during a step.
func TestUnreachable(t *testing.T) {
	for _, long := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			time.AfterFunc(30*time.Second, func() { w.unreachable = true })
			if !long {
				time.AfterFunc(80*time.Second, func() { w.unreachable = false })
			}
			out, err := w.run(t.Context(), func(o *options) { o.steps, o.every = []int{10}, 2*time.Minute })
			if long {
				has(t, out, err, "stopped at 10 %: listing the EndpointSlices of service shop/web in cluster c3: connection refused")
			} else if err != nil {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}

// The command waits for the agent, and says what it refuses.
func TestNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refuses = "The policy has no effect."
		out, err := w.run(t.Context(), nil)
		has(t, out, err, "TrafficPolicy shop/web-shift does not apply in cluster c3 (Invalid): The policy has no effect.")
		w = newWorld(t)
		w.ignores = true
		out, err = w.run(t.Context(), nil)
		has(t, out, err, "the agent of cluster c3 has not accepted TrafficPolicy shop/web-shift for 1m0s. Find out why: atoll status --context c3")
	})
}

// What cannot work is refused before anything is written.
func TestRefused(t *testing.T) {
	exports := func(w *world, oldest string) {
		w.kind = mcsv1beta1.ServiceExportKindName
		for i, id := range []string{"c1", "c2", "c3"} {
			at := metav1.Unix(int64(100+i), 0)
			if id == oldest {
				at = metav1.Unix(1, 0)
			}
			w.broker.Exports = append(w.broker.Exports, brokerv1alpha1.ExportedService{Spec: brokerv1alpha1.ExportedServiceSpec{ServiceNamespace: "shop", ServiceName: "web", ClusterID: id, ExportedAt: at}})
		}
	}
	for name, tt := range map[string]struct {
		objects []client.Object
		change  func(*world, *options)
		want    string
	}{
		"it does not export": {nil, func(_ *world, o *options) { o.to = "c9" }, "cluster c9 does not export service shop/web"},
		"no import": {nil, func(w *world, _ *options) {
			_ = w.Delete(w.t.Context(), &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
		}, "cluster c3 does not import service shop/web"},
		"no endpoint": {nil, func(w *world, _ *options) { w.scale("c2", 0) }, "cluster c2 has no ready endpoint of service shop/web, as cluster c3 sees it. Drained and silent endpoints do not count\nnothing is changed"},
		"headless": {nil, func(w *world, _ *options) {
			w.changeImport(func(s *mcsv1beta1.ServiceImportSpec) { s.Type = mcsv1beta1.Headless })
		}, "the service is headless"},
		"trafficDistribution": {nil, func(w *world, _ *options) {
			w.changeImport(func(s *mcsv1beta1.ServiceImportSpec) { s.TrafficDistribution = ptr.To("PreferClose") })
		}, "the service has a trafficDistribution"},
		"cluster IPs": {nil, func(w *world, _ *options) {
			w.broker.Members = []brokerv1alpha1.MemberCluster{{Spec: brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", AdvertiseMode: brokerv1alpha1.AdvertiseClusterIP}}}
		}, "advertises its cluster IPs"},
		"selectors": {[]client.Object{policyOf("near", func(p *trafficv1alpha1.TrafficPolicy) {
			p.Spec.ClusterSelectors = make([]trafficv1alpha1.ClusterGroup, 1)
		})}, nil, "TrafficPolicy shop/near of cluster c3 applies to the service, and has clusterSelectors"},
		"other targets": {[]client.Object{policyOf("all", func(p *trafficv1alpha1.TrafficPolicy) {
			p.Spec.TargetRefs = append(p.Spec.TargetRefs, trafficv1alpha1.LocalPolicyTargetReference{Kind: mcsv1beta1.ServiceImportKindName, Name: "api"})
		})}, nil, "has other targets too"},
		"another policy wins": {[]client.Object{policyOf("a", nil), policyOf("b", func(p *trafficv1alpha1.TrafficPolicy) { p.Annotations = map[string]string{names.AnnotationShift: "{}"} })}, nil, "TrafficPolicy a of cluster c3 is older than b, which a shift has changed"},
		"a default that forbids clusters": {[]client.Object{policyOf("default", func(p *trafficv1alpha1.TrafficPolicy) {
			p.Namespace, p.Spec.TargetRefs = names.SystemNamespace, nil
			p.Spec.ClusterSelectors, p.Spec.Fallback = make([]trafficv1alpha1.ClusterGroup, 1), trafficv1alpha1.FallbackNone
		})}, nil, "the default TrafficPolicy of cluster c3 has fallback None"},
		"an older export": {nil, func(w *world, _ *options) { exports(w, "c1") }, "the oldest export is in cluster c1, not in cluster c3: use a context of cluster c1"},
		"no broker": {nil, func(w *world, _ *options) {
			exports(w, "c3")
			w.broker = nil
		}, "the command cannot read the broker"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.objects...)
				out, err := w.run(t.Context(), func(o *options) {
					if tt.change != nil {
						tt.change(w, o)
					}
				})
				if has(t, out, err, tt.want); err == nil || w.one("web-shift") != nil || len(w.wrote) > 0 {
					t.Errorf("%v, wrote %v", err, w.wrote)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // and what works
		w := newWorld(t)
		exports(w, "c3")
		out, err := w.run(t.Context(), func(o *options) { o.exports = true })
		has(t, out, err, "c3: 100 % to c2: accepted\nundo: atoll shift shop/web --undo --exports --context c3\n")
		if p := w.one("web-shift"); p == nil || p.Spec.TargetRefs[0].Kind != mcsv1beta1.ServiceExportKindName {
			t.Errorf("%+v", p)
		}
	})
}

func (w *world) changeImport(change func(*mcsv1beta1.ServiceImportSpec)) {
	w.t.Helper()
	imp := &mcsv1beta1.ServiceImport{}
	if err := w.Get(w.t.Context(), web, imp); err != nil {
		w.t.Fatal(err)
	}
	change(&imp.Spec)
	if err := w.Update(w.t.Context(), imp); err != nil {
		w.t.Fatal(err)
	}
}

// A dry run prints the steps and writes nothing.
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	out, err := w.run(t.Context(), func(o *options) { o.dryRun = true })
	if err != nil || out != "c3: 10 % to c2: weights c2=4 c1=27 c3=9\nc3: 50 % to c2: weights c2=4 c1=3 c3=1\nc3: 100 % to c2: weights c2=1 c1=0 c3=0\n" || len(w.wrote) > 0 {
		t.Errorf("%v, %v: %s", err, w.wrote, out)
	}
}

func TestParse(t *testing.T) {
	valid := options{to: "c2", steps: []int{10}, every: time.Second}
	for name, tt := range map[string]struct {
		service string
		change  func(*options)
		want    string
	}{
		"valid":          {"shop/web", func(*options) {}, ""},
		"undo":           {"shop/web", undo, ""},
		"slashes":        {"shop/web/x", func(*options) {}, "does not have the form"},
		"two namespaces": {"shop/web", func(o *options) { o.namespace = "other" }, "name the namespace only once"},
		"no target":      {"shop/web", func(o *options) { o.to = "" }, "--to must name"},
		"steps":          {"shop/web", func(o *options) { o.steps = []int{50, 10} }, "--steps must ascend"},
		"every":          {"shop/web", func(o *options) { o.every = 0 }, "--every must be positive"},
		"exports":        {"shop/web", func(o *options) { o.exports, o.contexts = true, []string{"a", "b"} }, "--exports needs one --context"},
	} {
		o := valid
		tt.change(&o)
		switch err := o.parse(tt.service); {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
