package membership

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/joining"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// kubeAs is a client of the broker with the membership's token.
func kubeAs(t *testing.T, m credential.Membership) kubernetes.Interface {
	t.Helper()
	kube, err := kubernetes.NewForConfig(broker.NewToken(m.Token, nil).Config(m))
	noError(t, err)
	return kube
}

// policiesHold waits until the broker enforces the admission policies, which may be new.
func policiesHold(t *testing.T, file credential.Membership) {
	t.Helper()
	eventually(t, "the admission policies are enforced", func() error {
		for _, attempt := range []error{
			appliedBy(t, file, &corev1.Secret{ObjectMeta: onBroker(names.MemberCredential("c1", claimsOf(t, file.Token).AccountUID))}, client.DryRunAll),
			mintedBy(t, file, "member-c1", authenticationv1.TokenRequestSpec{}),
		} {
			if attempt == nil || !strings.Contains(attempt.Error(), "denied request") {
				return fmt.Errorf("the answer is %v", attempt)
			}
		}
		return nil
	})
}

// appliedBy applies a Secret, which creates it if there is none.
func appliedBy(t *testing.T, m credential.Membership, secret *corev1.Secret, options ...client.PatchOption) error {
	t.Helper()
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	body, err := json.Marshal(secret)
	noError(t, err)
	return asMember(t, m).Patch(t.Context(), secret, client.RawPatch(types.ApplyPatchType, body), append(options, client.FieldOwner("mallory"), client.ForceOwnership)...)
}

func mintedBy(t *testing.T, m credential.Membership, account string, spec authenticationv1.TokenRequestSpec) error {
	t.Helper()
	of := &corev1.ServiceAccount{ObjectMeta: onBroker(account)}
	return asMember(t, m).SubResource("token").Create(t.Context(), of, &authenticationv1.TokenRequest{Spec: spec})
}

// boundTo is a request for a token of an hour that is bound to a Secret.
func boundTo(bound credential.Binding) authenticationv1.TokenRequestSpec {
	return authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(3600)),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: bound.Name, UID: types.UID(bound.UID)},
	}
}

// usedAtOnce uses a join file many times at once, and returns how often that succeeded.
func usedAtOnce(t *testing.T, file credential.Membership) (succeeded int32) {
	var group sync.WaitGroup
	kube, n := kubeAs(t, file), atomic.Int32{}
	for range 16 {
		group.Go(func() {
			switch _, err := joining.Use(t.Context(), kube, file); {
			case err == nil:
				n.Add(1)
			case !apierrors.IsAlreadyExists(err):
				t.Errorf("using a file at the same time as others: %v", err)
			}
		})
	}
	group.Wait()
	return n.Load()
}
