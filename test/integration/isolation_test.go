package integration

import (
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/isolation"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A member notices that the broker does not limit members to their own objects any more, and that it
// does again.
func TestIsolation(t *testing.T) {
	ctx := t.Context()
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: objects.Meta("", rights.MemberPolicyName(objects.Clusterset))}
	// published waits until the broker behaves so, restarts c2's agent if asked to, and expects what it publishes.
	published := func(what string, want brokerv1alpha1.Isolation, restart bool) {
		t.Helper()
		eventually(t, "the broker "+what, func() error {
			have, err := isolation.Test(ctx, asMember(t, "c2"), objects.Clusterset, "c2")
			if err == nil && have != want {
				err = fmt.Errorf("it is %s", have)
			}
			return err
		})
		if restart {
			noError(t, theLab.Kill(ctx, "c2/agent"))
			start(t, "c2/agent")
		}
		eventually(t, "c2 says that the broker "+what, func() error {
			member := &brokerv1alpha1.MemberCluster{ObjectMeta: objects.Member("c2").ObjectMeta}
			if err := on[lab.Broker].Get(ctx, client.ObjectKeyFromObject(member), member); err != nil {
				return err
			}
			if member.Spec.Isolation != want {
				return fmt.Errorf("it says %q", member.Spec.Isolation)
			}
			return nil
		})
	}
	published("limits members", brokerv1alpha1.Isolated, false)
	planes.Read(t, on[lab.Broker], binding)
	again := binding.DeepCopy()
	again.ResourceVersion, again.UID = "", ""
	remove(t, lab.Broker, binding)
	defer func() {
		create(t, lab.Broker, again)
		published("limits members again", brokerv1alpha1.Isolated, true)
	}()
	published("does not limit members", brokerv1alpha1.NotIsolated, true)
	expectSaid(t, "c2", names.SystemNamespace, "Deployment", "BrokerNotIsolated", 1)
}
