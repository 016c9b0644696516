// Package remembered stores, for the agent's next process, the last revision that showed each member as present, and
// the permissions. Else, after a restart, a restored broker would end what was imported, or permit more.
package remembered

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Warn reports what people should know about this cluster's agent.
type Warn func(ctx context.Context, reason, action, text string)

type reconciler struct {
	cluster *inputs.Cluster
	warn    Warn
	log     *slog.Logger
	warned  status.Announced[struct{}, names.ClusterID] // about removals that are doubted, and permissions: no cluster
	written time.Time                                   // when it was last written
	data    map[string]string                           // what the ConfigMap had then, or when it was read; nil before that
}

// apart is the minimum time between two writes: a member can change its MemberCluster all the time.
const apart = 5 * time.Second

// New returns the controller.
func New(c *inputs.Cluster, warn Warn, log *slog.Logger) (controller.Controller, error) {
	r := &reconciler{cluster: c, warn: warn, log: log}
	return kit.New("remembered", r, kit.On(&c.Changes, func(_ context.Context, s kit.Scope) []reconcile.Request {
		if s.Service.Name != "" || s.Slice.Name != "" {
			return nil
		}
		return []reconcile.Request{{}} // there is one ConfigMap
	}))
}

// Reconcile writes the ConfigMap if it differs.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if !r.cluster.View.Known() {
		return reconcile.Result{}, nil // everything is published when it is
	}
	r.say(ctx)
	want := r.cluster.Remembered()
	if maps.Equal(r.data, want.Data) {
		return reconcile.Result{}, nil
	}
	if wait := apart - time.Since(r.written); wait > 0 {
		return kit.After(wait), nil
	}
	have, err := kit.Get(ctx, r.cluster.Live, client.ObjectKeyFromObject(want), &corev1.ConfigMap{})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading ConfigMap %s/%s, for which the agent's role must be updated if that is forbidden: %w", want.Namespace, want.Name, err)
	}
	r.written = time.Now()
	switch {
	case have == nil:
		err = r.cluster.Client.Create(ctx, want)
	case !maps.Equal(have.Data, want.Data):
		have.Data = maps.Clone(want.Data)
		err = kit.Update(ctx, r.cluster.Client, have)
	}
	if err == nil {
		r.data = want.Data
	}
	return kit.OutcomeOf(err).Result("writing ConfigMap %s/%s", want.Namespace, want.Name)
}

// say reports what the broker says and this cluster does not believe, once.
func (r *reconciler) say(ctx context.Context) {
	texts := map[names.ClusterID]string{}
	for id, m := range r.cluster.View.Memberships() {
		if m.Doubted {
			texts[id] = fmt.Sprintf("The broker says that cluster %q was removed, but the cluster has joined again since then, or its MemberCluster was created again. The cause can be a restored backup. "+
				"The cluster's Services stay imported. If the cluster was removed, remove it again: %s", id, command.Broker.Atoll("broker members remove %s --clusterset %s", id, r.cluster.Clusterset))
		}
	}
	if _, kept := r.cluster.View.PermissionsFrom(); kept {
		texts[""] = fmt.Sprintf("ConfigMap %s on the broker was created again without keys. The earlier permissions apply until the ConfigMap has a key: see %s",
			names.MemberPermissions, command.Broker.Atoll("broker members list --clusterset %s", r.cluster.Clusterset))
	}
	added, _ := r.warned.Update(struct{}{}, texts)
	for id, text := range added {
		reason := "RemovalNotBelieved"
		if id == "" {
			reason = "PermissionsKept"
		}
		r.log.Warn(text)
		r.warn(context.WithoutCancel(ctx), reason, "Import", text) // it goes on after this reconciliation
	}
}
