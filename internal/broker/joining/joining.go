// Package joining joins a cluster on the broker. It uses the join file (Use), requests tokens (Token), and revokes the
// file's permissions (End). `atoll join` or the agent calls it.
package joining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Use uses up a join file: it creates the Secret that the member's tokens are bound to, and returns its name and UID.
// on is the broker, with the file's token. Of several callers one succeeds; the others get AlreadyExists. Only the
// response has the UID, which tokens need. If the response is lost, a new join file is needed. The account may create
// the Secret only by server-side apply, which the broker's admission policy denies for an existing Secret.
func Use(ctx context.Context, on kubernetes.Interface, file credential.Membership) (credential.Binding, error) {
	claims, err := credential.ParseToken(file.Token)
	if err != nil {
		return credential.Binding{}, fmt.Errorf("reading the join file's token: %w", err)
	}
	if claims.AccountUID == "" {
		return credential.Binding{}, errors.New("the join file's token does not name the UID of its ServiceAccount")
	}
	member, err := on.CoreV1().ServiceAccounts(file.Clusterset).Get(ctx, names.MemberAccount(file.ClusterID), metav1.GetOptions{})
	if err != nil {
		return credential.Binding{}, err
	}
	want := rights.NewCredential(file.Clusterset, file.ClusterID, types.UID(claims.AccountUID), member.UID)
	body, err := json.Marshal(want)
	if err != nil {
		return credential.Binding{}, fmt.Errorf("encoding the Secret: %w", err)
	}
	secret, err := on.CoreV1().Secrets(file.Clusterset).Patch(ctx, want.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: names.JoinerAccount(file.ClusterID), Force: ptr.To(true)})
	switch {
	case apierrors.IsInvalid(err):
		return credential.Binding{}, apierrors.NewAlreadyExists(corev1.Resource("secrets"), want.Name)
	case err != nil:
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) || apierrors.IsTimeout(err) {
			return credential.Binding{}, &NoResponseError{err}
		}
		return credential.Binding{}, err
	}
	return credential.Binding{Name: secret.Name, UID: string(secret.UID)}, nil
}

// NoResponseError means that the broker's response was lost, so the join file may be used up.
type NoResponseError struct{ Err error }

// Error implements error.
func (e *NoResponseError) Error() string {
	return "the broker's answer was lost, so the join file may already have been used: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *NoResponseError) Unwrap() error { return e.Err }

// Token returns a new token of the member's account, bound to the used join file's Secret. The broker's administrator may
// limit the lifetime further.
func Token(ctx context.Context, on kubernetes.Interface, m credential.Membership, bound credential.Binding, lifetime time.Duration) (authenticationv1.TokenRequestStatus, error) {
	// The broker's policy checks the limit, so an error here shows there.
	if namespace, err := on.CoreV1().Namespaces().Get(ctx, m.Clusterset, metav1.GetOptions{}); err == nil {
		if limit, err := time.ParseDuration(namespace.Annotations[names.AnnotationTokenLifetime]); err == nil {
			lifetime = min(lifetime, limit)
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(lifetime / time.Second))}}
	if bound.Name != "" {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: bound.Name, UID: types.UID(bound.UID)}
	}
	answer, err := on.CoreV1().ServiceAccounts(m.Clusterset).CreateToken(ctx, names.MemberAccount(m.ClusterID), request, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.TokenRequestStatus{}, err
	}
	return answer.Status, nil
}

// End deletes the used join file's service account, and with it the file's rights and the Secrets of former joins,
// which the account owns. It leaves a later join file's account alone.
func End(ctx context.Context, on kubernetes.Interface, m credential.Membership, bound credential.Binding) error {
	uid := names.CredentialJoiner(m.ClusterID, bound.Name)
	if uid == "" {
		return nil // an administrator created the token
	}
	err := on.CoreV1().ServiceAccounts(m.Clusterset).Delete(ctx, names.JoinerAccount(m.ClusterID), metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(uid),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
