package broker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/permissions"
)

// owner writes what members may have, and looks at what one of them makes of it.
type owner struct {
	*Permissions
	client.Client
	t       *testing.T
	mu      sync.Mutex
	log     bytes.Buffer
	told    []string
	refusal error // of what is asked of the broker
	asked   int
}

// Write implements io.Writer for the log.
func (o *owner) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Write(p)
}

// refused returns the refusal, and counts.
func (o *owner) refused() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	return o.refusal
}

func written(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: names.MemberPermissions}, Data: data}
}

// owned runs do in a bubble of fake time, with a copy that remembers something, and of a broker that refuses.
func owned(t *testing.T, remembered permissions.Members, refusal error, do func(*owner)) {
	handlers := utilruntime.ErrorHandlers // see follow
	utilruntime.ErrorHandlers = nil
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		o := &owner{t: t, refusal: refusal}
		byName := func(object client.Object) []string { return []string{object.GetName()} }
		o.Client = fake.NewClientBuilder().WithScheme(Scheme()).WithIndex(&corev1.ConfigMap{}, metav1.ObjectNameField, byName).Build()
		c := interceptor.NewClient(o.Client.(client.WithWatch), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if err := o.refused(); err != nil {
					return err
				}
				return c.List(ctx, list, opts...)
			},
			// The fake one does not end its first events with a bookmark.
			Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
				if err := o.refused(); err != nil {
					return nil, err
				}
				if raw := (&client.ListOptions{}).ApplyOptions(opts).Raw; raw != nil && raw.SendInitialEvents != nil {
					return nil, apierrors.NewBadRequest("no first events")
				}
				return c.Watch(ctx, list, opts...)
			},
		})
		o.Permissions = NewPermissions(c, "set", slog.New(slog.NewTextHandler(o, nil)))
		o.Remember(remembered)
		o.OnChange(func(id names.ClusterID) { o.told = append(o.told, id.String()) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- o.Start(ctx) }()
		if err := o.Await(ctx); err != nil {
			t.Fatal(err)
		}
		// A fake server's watch shows nothing of what was written between the list and it.
		synctest.Wait()
		do(o)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (o *owner) do(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// expect checks of which members, as "c2:10.2.0.0/16 c3:", something is known, who was told of since the last time, and
// how many lines were logged.
func (o *owner) expect(when, known, told string, lines int) {
	o.t.Helper()
	synctest.Wait()
	var got []string
	for _, id := range []names.ClusterID{"c1", "c2", "c3"} {
		if set, fixed := o.RangesOf(id); fixed {
			got = append(got, fmt.Sprintf("%s:%s", id, set))
		}
	}
	if text := strings.Join(got, " "); text != known {
		o.t.Errorf("%s: known is %q, want %q", when, text, known)
	}
	if text := strings.Join(o.told, " "); text != told {
		o.t.Errorf("%s: told of %q, want %q", when, text, told)
	}
	o.told = nil
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := strings.Count(o.log.String(), "\n"); n != lines {
		o.t.Errorf("%s: %d lines are logged, want %d:\n%s", when, n, lines, &o.log)
	}
	o.log.Reset()
}

// What the owner has written holds until he writes something else, also where the broker has lost it.
func TestPermissionsHoldUntilTheOwnerSaysOtherwise(t *testing.T) {
	owned(t, nil, nil, func(o *owner) {
		ctx := t.Context()
		o.expect("nothing is written", "", "", 0)
		config := written(map[string]string{"ranges.c2": "10.2.0.0/16", "ranges.c3": ""})
		o.do(o.Create(ctx, config))
		o.expect("written", "c2:10.2.0.0/16 c3:", "c2 c3", 0)
		config.Data = map[string]string{"ranges.c2": "10.2.0.0/16", "ranges.c3": "10.3.0.0/16"}
		o.do(o.Update(ctx, config))
		o.expect("another one", "c2:10.2.0.0/16 c3:10.3.0.0/16", "c3", 0)
		config.Data = map[string]string{"ranges.c2": "10.2.0.0/16 10.2.0.1", "ranges.c3": "10.3.0.0/16"}
		o.do(o.Update(ctx, config))
		o.expect("a mistake", "c2:10.2.0.0/16 c3:10.3.0.0/16", "", 1)
		config.Data["ranges.c1"] = "10.1.0.0/16"
		o.do(o.Update(ctx, config))
		o.expect("the same mistake", "c1:10.1.0.0/16 c2:10.2.0.0/16 c3:10.3.0.0/16", "c1", 0)
		o.do(o.Delete(ctx, config))
		o.expect("gone", "c1:10.1.0.0/16 c2:10.2.0.0/16 c3:10.3.0.0/16", "", 1)
		o.do(o.Create(ctx, written(map[string]string{"ranges.c1": "10.1.0.0/16", "ranges.c2": "10.2.0.0/16"})))
		o.expect("there again", "c1:10.1.0.0/16 c2:10.2.0.0/16", "c3", 0)
		config = written(nil)
		o.do(o.Get(ctx, client.ObjectKeyFromObject(config), config))
		config.Data = nil
		o.do(o.Update(ctx, config))
		o.expect("cleared", "", "c1 c2", 0)
		o.do(o.Delete(ctx, config))
		o.expect("gone, and nothing held", "", "", 0)
	})
}

// A broker from before there was a ConfigMap restricts nobody, is not asked all the time, and is told of once. When it
// lets members read it, they do.
func TestPermissionsOfABrokerThatDoesNotLetMembersReadThem(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, names.MemberPermissions, nil)
	owned(t, nil, forbidden, func(o *owner) {
		o.expect("at first", "", "", 1)
		first := o.asked
		<-time.After(time.Hour)
		o.expect("an hour later", "", "", 0)
		if asked := o.asked - first; asked > 3*int(time.Hour/unseen) {
			t.Errorf("the broker was asked %d times in an hour", asked)
		}
		o.do(o.Create(t.Context(), written(map[string]string{"ranges.c2": "10.2.0.0/16"})))
		o.mu.Lock()
		o.refusal = nil
		o.mu.Unlock()
		<-time.After(2 * unseen)
		o.expect("it was deployed again", "c2:10.2.0.0/16", "c2", 0)
		o.mu.Lock()
		o.refusal = forbidden
		o.mu.Unlock()
		<-time.After(2 * unseen)
		o.expect("the right was taken away", "c2:10.2.0.0/16", "", 0)
	})
}

// What was known when an agent ran last holds until the broker says something.
func TestPermissionsAreRemembered(t *testing.T) {
	remembered, _ := permissions.Read(written(map[string]string{"ranges.c2": "10.2.0.0/16", "ranges.c3": ""}))
	for _, refusal := range []error{nil, apierrors.NewForbidden(schema.GroupResource{}, "", nil)} {
		owned(t, remembered, refusal, func(o *owner) {
			lines := 1
			if refusal != nil {
				lines++
			}
			o.expect("the broker has lost them, or hides them", "c2:10.2.0.0/16 c3:", "", lines)
			if set, fixed := o.RangesOf("c2"); !fixed || set.Contains(netip.MustParseAddr("10.3.0.1")) {
				t.Error("another address is allowed")
			}
			if refusal != nil {
				return
			}
			o.do(o.Create(t.Context(), written(map[string]string{"ranges.c2": "10.2.0.0/16"})))
			o.expect("it says something", "c2:10.2.0.0/16", "c3", 0)
		})
	}
	remembered["c1"] = permissions.Member{Ranges: &ranges.Set{}}
	owned(t, permissions.Members{}, nil, func(o *owner) { o.expect("nothing is remembered", "", "", 0) })
}

// Who is not interested any more is not told.
func TestPermissionsHandlersGo(t *testing.T) {
	owned(t, nil, nil, func(o *owner) {
		told := 0
		off := o.OnChange(func(names.ClusterID) { told++ })
		o.do(o.Create(t.Context(), written(map[string]string{"ranges.c2": ""})))
		synctest.Wait()
		off()
		config := written(nil)
		o.do(o.Get(t.Context(), client.ObjectKeyFromObject(config), config))
		config.Data["ranges.c3"] = ""
		o.do(o.Update(t.Context(), config))
		synctest.Wait()
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		o.expect("another one is", "c2: c3:", "c2 c3", 0)
	})
}

// A controller that comes when its view has left already, because its term was over before it began, leaves nothing in what outlives the view.
func TestWhoComesWhenTheViewHasLeft(t *testing.T) {
	v := &View{Epoch: &Epoch{Permissions: NewPermissions(fake.NewClientBuilder().WithScheme(Scheme()).Build(), "set", slog.New(slog.DiscardHandler))}}
	v.OnPermission(func(names.ClusterID) {})
	if n := len(v.Epoch.Permissions.handlers); n != 1 {
		t.Fatalf("there are %d handlers", n)
	}
	v.leave()
	v.OnPermission(func(names.ClusterID) {})
	v.OnServiceRanges(func(names.ClusterID) {})
	if n := len(v.Epoch.Permissions.handlers); n > 0 || len(v.memberHandlers) > 0 {
		t.Errorf("left are %d handlers, and %d of members", n, len(v.memberHandlers))
	}
}
