package joining

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const joinerUID = "11111111-2222-3333-4444-555555555555"

// token returns a ServiceAccount token without a signature.
func token(uid string) string {
	payload, _ := json.Marshal(map[string]any{
		"sub": "system:serviceaccount:set:join-c1", "exp": 1, "kubernetes.io": map[string]any{"serviceaccount": map[string]any{"uid": uid}},
	})
	return "e30." + base64.RawURLEncoding.EncodeToString(payload) + ".x"
}

func account(name string) *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{}
	a.Namespace, a.Name, a.UID = "set", name, "member-uid"
	return a
}

func TestUse(t *testing.T) {
	for name, tt := range map[string]struct {
		token   string
		account bool
		answer  error // to the Secret's application
		check   func(error) bool
		unknown bool // the file may be used up
	}{
		"an unused file":            {token: token(joinerUID), account: true, check: func(err error) bool { return err == nil }},
		"a used file":               {token: token(joinerUID), account: true, answer: apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "", nil), check: apierrors.IsAlreadyExists},
		"a revoked file":            {token: token(joinerUID), account: true, answer: apierrors.NewUnauthorized(""), check: apierrors.IsUnauthorized},
		"a removed member":          {token: token(joinerUID), check: apierrors.IsNotFound},
		"the answer is lost":        {token: token(joinerUID), account: true, answer: &net.OpError{Op: "read", Err: errors.New("reset")}, unknown: true},
		"the broker's etcd is slow": {token: token(joinerUID), account: true, answer: apierrors.NewTimeoutError("etcd", 1), unknown: true},
		"a token without the UID":   {token: token(""), account: true},
		"a file without a token":    {token: "x", account: true},
	} {
		t.Run(name, func(t *testing.T) {
			on := fake.NewClientset()
			if tt.account {
				on = fake.NewClientset(account(names.MemberAccount("c1")))
			}
			var made *corev1.Secret
			on.PrependReactor("patch", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if tt.answer != nil {
					return true, nil, tt.answer
				}
				patch := a.(clienttesting.PatchActionImpl)
				made = &corev1.Secret{}
				if err := json.Unmarshal(patch.Patch, made); err != nil || patch.PatchType != types.ApplyPatchType || patch.Name != made.Name {
					t.Errorf("the patch of %s is %s: %v", patch.Name, patch.Patch, err)
				}
				made.UID = "secret-uid"
				return true, made, nil
			})
			bound, err := Use(t.Context(), on, credential.Membership{ClusterID: "c1", Clusterset: "set", Token: tt.token})
			var lost *NoResponseError
			if tt.check != nil && !tt.check(err) || tt.check == nil && err == nil || errors.As(err, &lost) != tt.unknown || tt.unknown && !errors.Is(err, tt.answer) {
				t.Fatalf("the error is %v", err)
			}
			if err != nil {
				if bound != (credential.Binding{}) {
					t.Errorf("an error with %+v", bound)
				}
				return
			}
			if want := (credential.Binding{Name: "member-c1-" + joinerUID, UID: "secret-uid"}); bound != want {
				t.Errorf("bound to %+v, want %+v", bound, want)
			}
			if owners := made.OwnerReferences; len(owners) != 2 || owners[0].UID != joinerUID || owners[1].UID != "member-uid" || made.Type != names.CredentialType || len(made.Data) > 0 {
				t.Errorf("the Secret is %+v", made)
			}
		})
	}
}

func TestToken(t *testing.T) {
	m := credential.Membership{ClusterID: "c1", Clusterset: "set"}
	limited := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set", Annotations: map[string]string{names.AnnotationTokenLifetime: "24h0m0s"}}}
	for name, bound := range map[string]credential.Binding{"of a join file": {Name: "member-c1-" + joinerUID, UID: "secret-uid"}, "of an administrator": {}} {
		var asked authenticationv1.TokenRequestSpec
		on := fake.NewClientset(limited)
		on.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
			create := a.(clienttesting.CreateActionImpl)
			if create.Subresource != "token" || create.Name != "member-c1" || create.Namespace != "set" {
				t.Errorf("%s: the request is %+v", name, create)
			}
			request := create.Object.(*authenticationv1.TokenRequest)
			asked, request.Status.Token = request.Spec, "t"
			return true, request, nil
		})
		got, err := Token(t.Context(), on, m, bound, time.Hour)
		if err != nil || got.Token != "t" || *asked.ExpirationSeconds != 3600 {
			t.Errorf("%s: %+v, %v, for %+v", name, got, err, asked)
		}
		if _, err := Token(t.Context(), on, m, bound, 7*24*time.Hour); err != nil || *asked.ExpirationSeconds != 24*3600 {
			t.Errorf("%s: %v, for %d s", name, err, *asked.ExpirationSeconds)
		}
		if o := asked.BoundObjectRef; (o != nil) != (bound.Name != "") || o != nil && (o.Kind != "Secret" || o.Name != bound.Name || string(o.UID) != bound.UID) {
			t.Errorf("%s: the token is bound to %+v", name, o)
		}
	}
}

func TestEnd(t *testing.T) {
	accounts := corev1.Resource("serviceaccounts")
	for name, tt := range map[string]struct {
		bound  string
		answer error
		none   bool // no request
		fails  bool
	}{
		"a used file":                       {bound: "member-c1-" + joinerUID},
		"ended already":                     {bound: "member-c1-" + joinerUID, answer: apierrors.NewNotFound(accounts, "join-c1")},
		"a later file has the account":      {bound: "member-c1-" + joinerUID, answer: apierrors.NewConflict(accounts, "join-c1", nil)},
		"not permitted":                     {bound: "member-c1-" + joinerUID, answer: apierrors.NewForbidden(accounts, "join-c1", nil), fails: true},
		"a token of an administrator":       {bound: "", none: true},
		"a Secret of a cluster called c1-x": {bound: "member-c1-x-" + joinerUID, none: true},
	} {
		on := fake.NewClientset()
		var deleted []clienttesting.DeleteActionImpl
		on.PrependReactor("delete", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
			deleted = append(deleted, a.(clienttesting.DeleteActionImpl))
			return true, nil, tt.answer
		})
		err := End(t.Context(), on, credential.Membership{ClusterID: "c1", Clusterset: "set"}, credential.Binding{Name: tt.bound})
		if (err != nil) != tt.fails || (len(deleted) == 0) != tt.none {
			t.Errorf("%s: %v after %+v", name, err, deleted)
		}
		for _, d := range deleted {
			if p := d.DeleteOptions.Preconditions; d.Name != "join-c1" || d.Namespace != "set" || p == nil || p.UID == nil || string(*p.UID) != joinerUID {
				t.Errorf("%s: unexpected deletion %+v", name, d)
			}
		}
	}
}
