package properties

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

func property(name, value string) *aboutv1beta1.ClusterProperty {
	return &aboutv1beta1.ClusterProperty{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: aboutv1beta1.ClusterPropertySpec{Value: value}}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A change is published at once, a series at most twice a second. Nothing is published that changes nothing.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := apiserver.New(1).Config()
		scheme := lifecycle.Scheme(aboutv1beta1.AddToScheme)
		admin, err := client.New(config, client.Options{Scheme: scheme})
		noError(t, err)
		noError(t, admin.Create(t.Context(), property("cluster.clusterset.k8s.io", "c1")))
		noError(t, admin.Create(t.Context(), property("region", "eu\n")))
		from, err := cache.New(config, cache.Options{Scheme: scheme})
		noError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = from.Start(ctx) }()

		log := &bytes.Buffer{}
		published, times := values{"cluster.clusterset.k8s.io": "c1"}, 0
		var p *Properties
		publish := func() { published, times = p.Publish(published), times+1 }
		p = New(publish, slog.New(slog.NewTextHandler(log, nil)))
		if before := (values{"left": "by another replica"}); !maps.Equal(p.Publish(before), before) {
			t.Error("the properties are published before they are known")
		}
		p.Publish(published)
		ended := make(chan struct{})
		go func() { p.Follow(ctx, from); close(ended) }()
		noError(t, wait(ctx)) // until the cache has synced
		expect := func(what string, n int, want values) {
			t.Helper()
			synctest.Wait()
			if times != n || !maps.Equal(published, want) {
				t.Errorf("%s: published %d times, last %v; want %d times, %v", what, times, published, n, want)
			}
		}
		expect("the published ones are right", 0, values{"cluster.clusterset.k8s.io": "c1"})
		if n := strings.Count(log.String(), "is not published"); n != 1 || !strings.Contains(log.String(), "name=region") {
			t.Errorf("the log has %d messages:\n%s", n, log)
		}

		zone := property("zone", "0")
		noError(t, admin.Create(ctx, zone))
		expect("a new one", 1, values{"cluster.clusterset.k8s.io": "c1", "zone": "0"})
		for _, value := range []string{"1", "2", "3"} {
			zone.Spec.Value = value
			noError(t, admin.Update(ctx, zone))
		}
		expect("a series", 1, values{"cluster.clusterset.k8s.io": "c1", "zone": "0"})
		noError(t, wait(ctx))
		expect("its end", 2, values{"cluster.clusterset.k8s.io": "c1", "zone": "3"})
		noError(t, wait(ctx))
		invalid := property("region", "eu\n")
		noError(t, admin.Get(ctx, client.ObjectKeyFromObject(invalid), invalid))
		invalid.Spec.Value = "eu\t"
		noError(t, admin.Update(ctx, invalid))
		noError(t, wait(ctx))
		expect("another invalid value", 2, values{"cluster.clusterset.k8s.io": "c1", "zone": "3"})
		if n := strings.Count(log.String(), "is not published"); n != 1 {
			t.Errorf("the log has %d messages:\n%s", n, log)
		}
		noError(t, admin.Delete(ctx, zone))
		expect("a deleted one", 3, values{"cluster.clusterset.k8s.io": "c1"})

		cancel()
		<-ended
		if left := (values{"zone": "the next leader's"}); !maps.Equal(p.Publish(left), left) {
			t.Error("a replica that no longer leads publishes")
		}
	})
}

// wait waits for a publication to be due.
func wait(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, 2*pause)
	defer cancel()
	<-limited.Done()
	return ctx.Err()
}
