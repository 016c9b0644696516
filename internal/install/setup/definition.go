package setup

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/install"
)

// Definition says what to do where MultiClusterServices are defined on the hub's API server already, by somebody else.
type Definition int

const (
	// RefuseForeign installs no hub there.
	RefuseForeign Definition = iota
	// KeepForeign leaves the definition as it is, if it has all fields of Atoll's.
	KeepForeign
	// ReplaceForeign puts Atoll's in its place, and keeps the objects.
	ReplaceForeign
)

// settle returns an error unless the definitions may be installed, and replaces those that are somebody else's where that
// is wanted.
func (d Definition) settle(ctx context.Context, on *install.Target, crds []*unstructured.Unstructured) error {
	found, err := on.Foreign(ctx, crds)
	if err != nil || len(found) == 0 {
		return err
	}
	foreign := found[0] // there is one definition
	switch {
	case d == ReplaceForeign:
		return on.Apply(ctx, crds...)
	case d == KeepForeign && len(foreign.Lacks) == 0:
		return nil
	}
	const replace = "to put Atoll's in its place, which keeps the objects%s: atoll hub deploy --replace-crds"
	loses := ""
	if len(foreign.Loses) > 0 {
		loses = ", but of what only the other one has nothing (" + strings.Join(foreign.Loses, ", ") + ")"
	}
	if len(foreign.Lacks) > 0 {
		return hint(first(fmt.Sprintf(replace, loses)),
			"%s is here already, is not Atoll's, and lacks what the hub needs: %s", foreign.Name, strings.Join(foreign.Lacks, ", "))
	}
	return hint(first("to work with it as it is: atoll hub deploy --keep-crds; "+fmt.Sprintf(replace, loses)),
		"%s is here already, and is not Atoll's", foreign.Name)
}

// first says what is to be seen to before.
func first(what string) string {
	return "see that no other controller acts on MultiClusterServices here (Karmada's does not with --feature-gates=MultiClusterService=false); then, " + what
}
