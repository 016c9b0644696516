package informers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// selecting is an API server that lists and watches what a selector selects.
type selecting struct {
	client.WithWatch
	mu      sync.Mutex
	objects map[string]*corev1.ConfigMap
	version int
	watches []*watch.FakeWatcher
	asked   []string // "list SELECTOR" and "watch SELECTOR"
}

func selector(opts []client.ListOption) (*client.ListOptions, string) {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.LabelSelector == nil {
		return &o, ""
	}
	return &o, o.LabelSelector.String()
}

func (s *selecting) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, text := selector(opts)
	s.asked = append(s.asked, "list "+text)
	for _, object := range s.objects {
		if o.LabelSelector == nil || o.LabelSelector.Matches(labelsOf(object)) {
			list.(*corev1.ConfigMapList).Items = append(list.(*corev1.ConfigMapList).Items, *object.DeepCopy())
		}
	}
	list.SetResourceVersion(fmt.Sprint(s.version))
	return nil
}

type labelsOfObject map[string]string

func (l labelsOfObject) Has(k string) bool              { _, ok := l[k]; return ok }
func (l labelsOfObject) Get(k string) string            { return l[k] }
func (l labelsOfObject) Lookup(k string) (string, bool) { v, ok := l[k]; return v, ok }
func labelsOf(o client.Object) labelsOfObject           { return o.GetLabels() }

func (s *selecting) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, text := selector(opts)
	s.asked = append(s.asked, "watch "+text)
	w := watch.NewFakeWithChanSize(100, false)
	if ptr.Deref(o.Raw.SendInitialEvents, false) {
		for _, object := range s.objects {
			w.Add(object.DeepCopy())
		}
		w.Action(watch.Bookmark, end(fmt.Sprint(s.version)).Object)
	}
	s.watches = append(s.watches, w)
	return w, nil
}

// write writes an object of a member, which the last watch brings where it is to.
func (s *selecting) write(member, name, value string, brings bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	object := named(name, fmt.Sprint(s.version))
	object.Labels, object.Data = map[string]string{"member": member}, map[string]string{"value": value}
	had := s.objects[name] != nil
	s.objects[name] = object
	if w := s.watches; brings && had {
		w[len(w)-1].Modify(object.DeepCopy())
	} else if brings {
		w[len(w)-1].Add(object.DeepCopy())
	}
}

// A member that writes too fast is not watched for a while. What a copy holds of it stays as it is, also when it is made anew
// meanwhile, and is what there is in the end.
func TestAMemberThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &selecting{objects: map[string]*corev1.ConfigMap{}}
		tap := &Tap{Metered: &Metered{Budget: quota.NewBudget(quota.Limits{Changes: 0.01, ChangesAtOnce: 2}, time.Now, nil), Label: "member", Exempt: "self"}}
		s.write("loud", "a", "0", false)
		s.write("calm", "b", "0", false)
		s.write("self", "c", "0", false)
		informer := NewTapped(s, tap, &corev1.ConfigMapList{}, &corev1.ConfigMap{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go informer.RunWithContext(ctx)
		has := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for _, o := range informer.GetStore().List() {
				c := o.(*corev1.ConfigMap)
				got = append(got, c.Name+"="+c.Data["value"])
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: the copy has %v, not %v", what, got, want)
			}
		}
		cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
		for i := range 5 {
			s.write("self", "c", fmt.Sprint(i), true)
		}
		s.write("loud", "a", "1", true)
		s.write("loud", "a", "2", true)
		has("within the budget", "a=2", "b=0", "c=4")
		s.write("loud", "a", "3", true)
		synctest.Wait()
		s.write("calm", "b", "1", true)
		has("beyond it", "a=2", "b=1", "c=4")
		if last := s.asked[len(s.asked)-1]; last != "watch member notin (loud)" {
			t.Errorf("asked for %q", s.asked)
		}
		tap.Expire()
		<-time.After(5 * time.Second)
		has("made anew", "a=2", "b=1", "c=4")
		if !slices.Contains(s.asked, "list member notin (loud)") {
			t.Errorf("asked for %q", s.asked)
		}
		<-time.After(time.Minute)
		has("in the end", "a=3", "b=1", "c=4")
		s.write("loud", "a", "4", true)
		has("afterwards", "a=3", "b=1", "c=4") // its budget is still used up
	})
}

// No object by itself exceeds the budget for changes, however large it is: what is valid of it is imported.
func TestChangeCostIsBounded(t *testing.T) {
	for _, o := range []client.Object{
		&discoveryv1.EndpointSlice{Ports: make([]discoveryv1.EndpointPort, 20_000), Endpoints: make([]discoveryv1.Endpoint, 1000)},
		&brokerv1alpha1.ExportedService{Spec: brokerv1alpha1.ExportedServiceSpec{Ports: make([]mcsv1beta1.ServicePort, 20_000)}},
	} {
		if cost := ChangeCost(o); cost > quota.DefaultLimits.BytesAtOnce/5 {
			t.Errorf("a change of a %T costs %d bytes", o, cost)
		}
	}
}
