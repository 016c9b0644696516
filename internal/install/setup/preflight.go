package setup

import (
	"context"
	"slices"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

// supported makes sure that an API server is recent enough.
func supported(on *install.Target) error {
	version, lacks, err := on.Version()
	if err != nil {
		return err
	}
	for _, part := range lacks {
		return hint("upgrade the cluster to Kubernetes "+part.Since+" or later",
			"the API server %s (Kubernetes %s) does not serve %s, which Atoll needs", on.Config.Host, version, part)
	}
	return nil
}

// CheckDefinitions returns why the definitions that a member needs can't be installed beside those
// that are there.
func CheckDefinitions(ctx context.Context, on *install.Target) error {
	crds, _ := render.Member{}.Manifests()
	return on.CheckCRDs(ctx, crds, false)
}

// MayJoin returns what a person may not do who would have the cluster join.
func MayJoin(ctx context.Context, on *install.Target) error {
	crds, objects := render.Member{}.Manifests()
	return on.Rights(ctx, []string{"create", "patch"}, slices.Concat(crds, objects)...)
}
