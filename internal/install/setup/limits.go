package setup

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
)

// LimitProblems compares what limits members on the broker with what DeployBroker applies: the admission policies, their
// bindings, and the members' Role. It returns a text for each object that is missing or differs. An error means that
// they could not be compared.
func LimitProblems(ctx context.Context, on *install.Target, namespace string) (problems []string, _ error) {
	err := eachLimit(ctx, on, namespace, func(have, want client.Object) error {
		switch {
		case have == nil:
			problems = append(problems, install.Name(want)+" is missing")
		case replaceLimit(have, want):
			problems = append(problems, install.Name(want)+" differs from that of this version of atoll")
		}
		return nil
	})
	return problems, err
}

// RestoreLimits is the command that makes members' limits what they should be.
func RestoreLimits(on *install.Target, namespace string) string {
	return on.On.Atoll("broker deploy --clusterset %s", namespace)
}

// checkLimits returns an error unless the broker limits members as DeployBroker makes it. With weaker policies, a holder of
// a join file could use it twice, and a member could change the objects of others.
func checkLimits(ctx context.Context, on *install.Target, namespace string) error {
	problems, err := LimitProblems(ctx, on, namespace)
	if err != nil || len(problems) == 0 {
		return err
	}
	return hint("Deploy the broker again: "+RestoreLimits(on, namespace),
		"the broker may not limit its members: %s. Either another version of Atoll deployed the broker, or someone has changed or deleted these objects. "+
			"Members could change each other's exports, and a join file could be used more than once", strings.Join(problems, "; "))
}

// restoreLimits replaces what limits members, where it still differs. Server-side apply keeps what others have added, such as
// a match condition that exempts a member.
func restoreLimits(ctx context.Context, on *install.Target, namespace string) error {
	return eachLimit(ctx, on, namespace, func(have, want client.Object) error {
		if have == nil || !replaceLimit(have, want) {
			return nil
		}
		if err := on.Update(ctx, have); err != nil {
			return fmt.Errorf("replacing %s: %w", install.Name(want), err)
		}
		on.Report(install.Changed, want, "fields that someone had added are removed")
		return nil
	})
}

// eachLimit calls f with each object that limits members, as it is on the broker (nil if it is missing) and as it should be.
func eachLimit(ctx context.Context, on *install.Target, namespace string, f func(have, want client.Object) error) error {
	for _, want := range rights.Objects(namespace) {
		have := emptyLimit(want)
		if have == nil {
			continue
		}
		err := on.Get(ctx, client.ObjectKeyFromObject(want), have)
		switch {
		case apierrors.IsNotFound(err):
			have = nil
		case err != nil:
			return fmt.Errorf("reading %s on the broker: %w", install.Name(want), err)
		}
		if err := f(have, want); err != nil {
			return err
		}
	}
	return nil
}

// emptyLimit returns an empty object of the same kind, or nil for an object that does not limit members.
func emptyLimit(like client.Object) client.Object {
	switch like.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		return &admissionv1.ValidatingAdmissionPolicy{}
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return &admissionv1.ValidatingAdmissionPolicyBinding{}
	case *rbacv1.Role:
		return &rbacv1.Role{}
	}
	return nil
}

// replaceLimit gives an object the rules of another, and reports whether they differed. Package rights sets every field that
// the API server would otherwise set to a default, so that equal rules are equal here.
func replaceLimit(have, want client.Object) (differed bool) {
	switch want := want.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		return replace(&have.(*admissionv1.ValidatingAdmissionPolicy).Spec, want.Spec)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return replace(&have.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec, want.Spec)
	case *rbacv1.Role:
		return replace(&have.(*rbacv1.Role).Rules, want.Rules)
	}
	return false
}

func replace[T any](have *T, want T) (differed bool) {
	differed = !equality.Semantic.DeepEqual(*have, want)
	*have = want
	return differed
}
