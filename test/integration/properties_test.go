package integration

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A member publishes its ClusterProperties within a second, and writes nothing when nothing has changed.
func TestPropertiesArePublished(t *testing.T) {
	ctx := t.Context()
	member := objects.Member("c1")
	expect := func(what string, limit time.Duration, want map[string]brokerv1alpha1.PropertyValue) {
		t.Helper()
		began := time.Now()
		planes.Until(t, what, on[lab.Broker], member, func() error {
			if !maps.Equal(member.Spec.Properties, want) {
				return fmt.Errorf("the properties are %v, want %v", member.Spec.Properties, want)
			}
			return nil
		})
		if took := time.Since(began); took > limit {
			t.Errorf("%s: after %v", what, took)
		}
	}
	standard := map[string]brokerv1alpha1.PropertyValue{"cluster.clusterset.k8s.io": "c1", "clusterset.k8s.io": "atoll-clusterset"}
	with := func(region brokerv1alpha1.PropertyValue) map[string]brokerv1alpha1.PropertyValue {
		all := maps.Clone(standard)
		all["region.example.com"] = region
		return all
	}
	expect("those of the join", planes.Patience, standard)

	property := func(name, value string) *aboutv1beta1.ClusterProperty {
		return &aboutv1beta1.ClusterProperty{ObjectMeta: objects.Meta("", name), Spec: aboutv1beta1.ClusterPropertySpec{Value: value}}
	}
	region := property("region.example.com", "eu (Zürich)")
	temporary(t, "c1", region)
	expect("a new one", time.Second, with("eu (Zürich)"))
	change(t, "c1", region, func(p *aboutv1beta1.ClusterProperty) { p.Spec.Value = "us" })
	expect("a changed one", time.Second, with("us"))

	before := member.DeepCopy()
	temporary(t, "c1", property("secret", "a\nb"))
	renewed, lease := map[time.Time]bool{}, &coordinationv1.Lease{}
	eventually(t, "three heartbeats", func() error {
		if err := on[lab.Broker].Get(ctx, client.ObjectKeyFromObject(member), lease); err != nil {
			return err
		}
		if renewed[lease.Spec.RenewTime.Time] = true; len(renewed) < 4 {
			return errors.New("not yet")
		}
		return nil
	})
	planes.Read(t, on[lab.Broker], member)
	if member.ResourceVersion != before.ResourceVersion {
		t.Errorf("the MemberCluster was written without a change: %+v, before %+v", member.Spec, before.Spec)
	}

	remove(t, "c1", region)
	expect("without a deleted one", time.Second, standard)
	change(t, lab.Broker, member, func(m *brokerv1alpha1.MemberCluster) { m.Spec.Properties = nil })
	expect("after an edit on the broker", planes.Patience, standard)
}

// The broker refuses properties that no agent publishes.
func TestBrokerRefusesProperties(t *testing.T) {
	ctx := t.Context()
	many := map[string]brokerv1alpha1.PropertyValue{}
	for i := range 65 {
		many[fmt.Sprint("p", i)] = "x"
	}
	for _, tt := range []struct {
		properties map[string]brokerv1alpha1.PropertyValue
		want       string
	}{
		{map[string]brokerv1alpha1.PropertyValue{"region": "eu (Zürich) – 1"}, ""},
		{map[string]brokerv1alpha1.PropertyValue{"region": "a\x1b[31m"}, "should match"},
		{map[string]brokerv1alpha1.PropertyValue{"region": "a\nb"}, "should match"},
		{map[string]brokerv1alpha1.PropertyValue{"region": "a\u202eb"}, "should match"},
		{map[string]brokerv1alpha1.PropertyValue{"region": ""}, "should match"},
		{map[string]brokerv1alpha1.PropertyValue{"region": brokerv1alpha1.PropertyValue(fmt.Sprintf("%257d", 1))}, "may not be more than 256"},
		{map[string]brokerv1alpha1.PropertyValue{"": "x"}, "1 to 253 characters"},
		{many, "must have at most 64 items"},
	} {
		member := objects.Member("c1")
		noError(t, on[lab.Broker].Get(ctx, client.ObjectKeyFromObject(member), member))
		member.Spec.Properties = tt.properties
		err := asMember(t, "c1").Update(ctx, member, client.DryRunAll)
		if tt.want == "" {
			planes.Succeeds(t, fmt.Sprint(tt.properties), err)
			continue
		}
		if !apierrors.IsInvalid(err) {
			t.Errorf("%.80v: %v", tt.properties, err)
			continue
		}
		planes.Says(t, fmt.Sprintf("%.80v", tt.properties), err.Error(), tt.want)
	}
}
