package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// renewing renews a member's heartbeat until the test ends.
func renewing(t *testing.T, b *Broker, id string) {
	t.Helper()
	again := time.NewTicker(200 * time.Millisecond)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer again.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-again.C:
			}
			lease := objects.Lease(id)
			patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
			if err := planes.Merge(t.Context(), b.Admin, lease, patch); err != nil && t.Context().Err() == nil {
				t.Errorf("renewing the heartbeat of %s: %v", id, err)
				return
			}
		}
	}()
	t.Cleanup(func() { <-ended })
}

// A member lies about its region, its id and the readiness of its endpoints. It attracts traffic of a service that it exports, where
// this cluster prefers that region. It does not replace a cluster that is preferred by its id, or change other services.
// Endpoints that never answered do not make it silent, as they could be behind a firewall; the stored list says so.
func TestMemberThatLies(t *testing.T) {
	waits(t)
	n, members := joinOver(t, 2)
	honest, importing := members[0], members[1]
	const liar = "liar"
	n.pods("10.203.0", false)
	joinEarlier(t, n.broker, liar, importing.ID.String(), addressOf(2))
	renewing(t, n.broker, liar)
	http := exportWeb(t, members...)[0]
	export(t, honest, "db", "10.201.1.1", "")
	web, db := follow(t, importing, "web"), follow(t, importing, "db")
	web.isReady(t, "all", http, addressOf(0), addressOf(1), addressOf(2))
	db.isReady(t, "the honest cluster's", http, "10.201.1.1")

	sameRegion := trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{{
		PropertySelector: trafficv1alpha1.PropertySelector{MatchProperties: map[string]string{trafficv1alpha1.RegionProperty: "@SameAsImporter@"}},
	}}}
	forDB := policyFor("ServiceImport", sameRegion)
	forDB.Name, forDB.Spec.TargetRefs[0].Name = "db", "db"
	forWeb := policyFor("ServiceImport", sameRegion)
	planes.Create(t, importing.Client, forDB, forWeb)
	web.isReady(t, "in its region, as it says", http, addressOf(1), addressOf(2))

	claim := func(properties map[string]brokerv1alpha1.PropertyValue) {
		t.Helper()
		planes.Change(t, n.broker.Admin, objects.Member(liar), func(m *brokerv1alpha1.MemberCluster) { m.Spec.Properties, m.Spec.Region = properties, "" })
	}
	prefer := func(p trafficv1alpha1.Preference) {
		t.Helper()
		planes.Change(t, importing.Client, forWeb, func(policy *trafficv1alpha1.TrafficPolicy) { policy.Spec.Preference = p; policy.Generation++ })
	}
	claim(map[string]brokerv1alpha1.PropertyValue{"cluster.clusterset.k8s.io": brokerv1alpha1.PropertyValue(importing.ID)})
	web.isReady(t, "without a region", http, addressOf(1))
	prefer(trafficv1alpha1.Preference{})
	web.isReady(t, "without a preference", http, addressOf(0), addressOf(1), addressOf(2))
	prefer(trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{inCluster(importing.ID.String())}, Fallback: trafficv1alpha1.FallbackNone})
	web.isReady(t, "by id", http, addressOf(1))

	// Properties that the schema refuses are ignored if they are on the broker, for example from before the schema. Others count.
	huge := map[string]brokerv1alpha1.PropertyValue{"a\nb": "x", "empty": "", trafficv1alpha1.RegionProperty: brokerv1alpha1.PropertyValue(importing.ID)}
	for i := range 1000 {
		huge[fmt.Sprintf("a%04d", i)] = brokerv1alpha1.PropertyValue(strings.Repeat("x", 10<<10))
	}
	claim(huge)
	prefer(sameRegion)
	web.isReady(t, "the valid one of many properties", http, addressOf(1), addressOf(2))
	db.isReady(t, "the honest cluster's all the time", http, "10.201.1.1")

	prefer(trafficv1alpha1.Preference{})
	web.isReady(t, "without a preference again", http, addressOf(0), addressOf(1), addressOf(2))
	awaitDials(t, n, importing, "10.201.0", 0, 1)
	eventually(t, "it is known that the liar has never answered", func(ctx context.Context) error {
		stored := &corev1.ConfigMap{}
		err := importing.Client.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.LostClusters}, stored)
		if err == nil && stored.Data[names.LostUnproven+liar] == "" {
			err = errors.New("it is not stored")
		}
		return err
	})
	n.cutOff(importing.ID) // all heartbeats are late
	n.pods("10.201.0", false)
	n.pods("10.201.1", false)
	web.isReady(t, "the honest cluster is silent, the liar is not", http, addressOf(1), addressOf(2))
	web.isNeverEmpty(t, http)
	db.isNeverEmpty(t)
}
