package convergence

import (
	"math/rand/v2"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// TestEmptyPermissionsAreCreatedAgain restores a broker whose permissions are empty, and wipes it
// before an agent reads them. The administrators create an empty ConfigMap again: without one,
// agents use the permissions from before the restore.
func TestEmptyPermissionsAreCreatedAgain(t *testing.T) {
	ctx := t.Context()
	w := &world{random: rand.New(rand.NewPCG(1, 0)), broker: apiserver.New(250), wiped: true, permitted: map[string]string{}}
	var err error
	w.admin, err = client.NewWithWatch(w.broker.Config(), client.Options{Scheme: simulation.Scheme()})
	planes.NoError(t, err)
	w.empty = w.broker.Backup()
	planes.NoError(t, w.makeClusterset(ctx))
	planes.NoError(t, backUp(ctx, w, nil))
	w.backedUp = time.Now().Add(-restoring)
	w.permitted = map[string]string{"namespaces.c1": "bank"}
	planes.NoError(t, w.permit(ctx))
	planes.NoError(t, putBack(ctx, w, nil))
	planes.NoError(t, wipe(ctx, w, nil))
	planes.NoError(t, w.makeClusterset(ctx))
	config := made.Permissions(nil)
	planes.NoError(t, w.admin.Get(ctx, keyOf(config), config))
	if len(config.Data) > 0 {
		t.Errorf("the permissions are %v, want none", config.Data)
	}
}
