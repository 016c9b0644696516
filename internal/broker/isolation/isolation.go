// Package isolation tests whether a broker still denies writes that members may not make. Without its admission
// policies a broker serves as before, and any member could replace the objects of others
// (docs/explanation/security.md).
package isolation

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// stranger is the cluster in whose name Test tries to write. No cluster has to have this id: the request changes nothing.
const stranger names.ClusterID = "isolation-test"

// Test tries to create another cluster's MemberCluster, as a dry run, with a member's client. It returns an error if neither
// follows: the broker cannot be reached, or something else than the policy refuses the request.
func Test(ctx context.Context, member client.Client, clusterset string, self names.ClusterID) (brokerv1alpha1.Isolation, error) {
	other := stranger
	if self == other {
		other += "-2"
	}
	foreign := &brokerv1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterset, Name: other.String(), Labels: map[string]string{names.LabelSourceCluster: other.String()}},
		Spec:       brokerv1alpha1.MemberClusterSpec{ClusterID: other.String(), ClusterUID: other.String(), AdvertiseMode: brokerv1alpha1.AdvertisePods},
	}
	err := member.Create(ctx, foreign, client.DryRunAll)
	switch {
	case err == nil || apierrors.IsAlreadyExists(err): // admission precedes the look whether it exists
		return brokerv1alpha1.NotIsolated, nil
	case (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), rights.MemberPolicyName(clusterset)):
		return brokerv1alpha1.Isolated, nil
	}
	return "", fmt.Errorf("trying whether the broker refuses another cluster's MemberCluster: %w", err)
}
