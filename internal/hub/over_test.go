package hub

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/quota"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// The hub holds no more records of one member than its budget allows, and all of another one's.
func TestMemberOverTheHubsBudget(t *testing.T) {
	config := rest.CopyConfig(apiserver.New(1).Config())
	onBroker, err := client.NewWithWatch(config, client.Options{Scheme: scheme()})
	must(t, err)
	in := broker.DefaultNamespace
	must(t, onBroker.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in}}))
	for _, name := range []string{"c1.a", "c1.b", "c1.c", "c2.a"} {
		id, _, _ := strings.Cut(name, ".")
		must(t, onBroker.Create(t.Context(), &brokerv1alpha1.ExportedService{
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name, Labels: map[string]string{names.LabelSourceCluster: id}},
		}))
	}
	var over []string
	metered := &informers.Metered{Label: names.LabelSourceCluster, Budget: quota.NewBudget(quota.Limits{Objects: 2}, time.Now, func(member string, u quota.Usage) {
		over = append(over, member+" "+string(u.Reason))
	})}
	copies, err := cache.New(config, cache.Options{
		Scheme: scheme(), NewInformer: newInformer(onBroker, in, metered),
		ByObject: map[client.Object]cache.ByObject{&brokerv1alpha1.ExportedService{}: {Namespaces: map[string]cache.Config{in: {}}}},
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = copies.GetInformer(ctx, &brokerv1alpha1.ExportedService{}, cache.BlockUntilSynced(false))
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- copies.Start(ctx) }()
	held := &brokerv1alpha1.ExportedServiceList{}
	copies.WaitForCacheSync(ctx)
	must(t, copies.List(ctx, held))
	count := map[string]int{}
	for _, e := range held.Items {
		count[e.Labels[names.LabelSourceCluster]]++
	}
	if count["c1"] != 2 || count["c2"] != 1 || len(over) != 1 || over[0] != "c1 objects" {
		t.Errorf("held: %v; over budget: %v", count, over)
	}
	cancel()
	must(t, <-ended)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
