package setup

import (
	"context"
	"fmt"
	"slices"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

// supported checks that the API server is recent enough.
func supported(on *install.Target) error {
	version, lacks, err := on.Version()
	if err != nil {
		return err
	}
	for _, part := range lacks {
		return hint(fmt.Sprintf("Upgrade the cluster to Kubernetes %s or later", part.Since),
			"the API server %s (Kubernetes %s) does not serve %s, which Atoll needs", on.Config.Host, version, part)
	}
	return nil
}

// CheckDefinitions returns why a member's CustomResourceDefinitions conflict with the existing ones.
func CheckDefinitions(ctx context.Context, on *install.Target) error {
	crds, _ := render.Member{}.Manifests()
	return on.CheckCRDs(ctx, crds, false)
}

// MayJoin returns the user's missing permissions for a join.
func MayJoin(ctx context.Context, on *install.Target) error {
	crds, objects := render.Member{}.Manifests()
	return on.Rights(ctx, []string{"create", "patch"}, slices.Concat(crds, objects)...)
}
