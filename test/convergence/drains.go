package convergence

import (
	"context"
	"maps"
	"math/rand/v2"
	"time"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// A test lasts hours, so a drain ends before or after all of it, whatever the clock of a cluster shows.
var (
	ended  = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	lasts  = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	drains = []string{"true", "true", lasts, "anything", "false", ended}
)

// someDrain returns a random value of the annotation.
func someDrain(random *rand.Rand) string { return drains[random.IntN(len(drains))] }

// changeDrain drains a namespace of a cluster, or the whole cluster, or ends that.
func changeDrain(ctx context.Context, w *world, c *cluster) error {
	all := append([]string{names.SystemNamespace}, namespaces...)
	name := all[w.random.IntN(len(all))]
	if name != names.SystemNamespace && !c.users.namespaces[name] {
		return nil
	}
	value := ""
	if c.users.drains[name] == "" || w.random.IntN(3) == 0 {
		value = someDrain(w.random)
	}
	w.note("%s: the drain of %s is %q", c.id, name, value)
	c.users.drains[name] = value
	return c.annotate(ctx, name, names.AnnotationDrained, value)
}

// drainMember drains a member by the permissions, or ends that.
func drainMember(ctx context.Context, w *world, c *cluster) error {
	if w.wiped {
		return nil
	}
	data := maps.Clone(w.permitted)
	if data == nil {
		data = map[string]string{}
	}
	key := permissions.DrainedPrefix + c.id.String()
	if data[key] == "true" {
		delete(data, key)
	} else {
		data[key] = []string{"true", "true", "false", "perhaps"}[w.random.IntN(4)] // perhaps is a mistake, which drains nothing
	}
	w.note("%s: %s = %q", c.id, key, data[key])
	w.permitted = data
	return w.permit(ctx)
}

// drained reports whether a cluster's users drain an export: itself, its namespace, or the whole cluster.
func (u *users) drained(export *mcsv1beta1.ServiceExport) bool {
	for _, value := range []string{export.Annotations[names.AnnotationDrained], u.drains[export.Namespace], u.drains[names.SystemNamespace]} {
		if value != "" && value != "false" && value != ended {
			return true
		}
	}
	return false
}
