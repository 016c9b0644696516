package convergence

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	made "github.com/atoll-mcs/atoll/test/objects"
)

// changePermission changes the namespaces or addresses that a member may export, or the namespaces that are reserved for members
// whose own namespaces name them.
func changePermission(ctx context.Context, w *world, c *cluster) error {
	if w.wiped {
		return nil
	}
	data := maps.Clone(w.permitted)
	if data == nil {
		data = map[string]string{}
	}
	key, some := permissions.NamespacesKey(c.id), []string{steadyNamespace}
	switch w.random.IntN(4) {
	case 0:
		key, some = permissions.RangesPrefix+c.id.String(), []string{fmt.Sprintf("10.%d.0.0/25", 200+c.number), c.steadyAddress() + "/32"}
	case 1:
		key, some = permissions.Reserved, []string{namespaces[w.random.IntN(len(namespaces))]}
	default:
		for _, name := range namespaces {
			if w.random.IntN(2) == 0 {
				some = append(some, name)
			}
		}
	}
	if data[key] = strings.Join(some, ", "); w.random.IntN(3) == 0 {
		delete(data, key)
	}
	w.note("%s: %s = %q", c.id, key, data[key])
	w.permitted = data
	return w.permit(ctx)
}

// permit writes the permissions as the broker's administrators would.
func (w *world) permit(ctx context.Context) error {
	if w.permitted == nil {
		return nil
	}
	err := w.admin.Update(ctx, made.Permissions(w.permitted))
	if apierrors.IsNotFound(err) {
		return w.admin.Create(ctx, made.Permissions(w.permitted))
	}
	return err
}

// removeMember removes a member from the clusterset, with its agents running or stopped, and
// lets the cluster join again.
func removeMember(ctx context.Context, w *world, c *cluster) error {
	member := made.Member(c.id.String())
	if err := w.admin.Get(ctx, keyOf(member), member); err != nil {
		return ignoreMissing(err) // the broker was wiped, or the member has never reached it
	}
	for _, g := range w.guards {
		if g.cluster != c { // a removed member keeps its imports
			g.excuse(c.id.String())
		}
	}
	away := w.random.IntN(2) == 0
	if away {
		if err := c.endAgents(); err != nil {
			return err
		}
	}
	w.note("%s: its agents run: %t", c.id, !away)
	c.broker.revoke(true)
	on, err := install.NewTarget(w.broker.Config(), func(install.Change, client.Object, string) {})
	if err != nil {
		return err
	}
	on.Client = withoutRights{on.Client}
	request := setup.RemoveRequest{Namespace: brokerpkg.DefaultNamespace, Cluster: c.id, Force: true}
	if err := setup.Remove(ctx, on, request, func(string, ...any) {}); err != nil {
		return err
	}
	if w.quiet {
		w.removed = c
		err = w.settle(ctx, soon)
		w.removed = nil
		if err != nil {
			return fmt.Errorf("while %s is removed: %w", c.id, err)
		}
	} else {
		pause(ctx, time.Duration(w.random.Int64N(int64(2*time.Minute))))
	}
	if !away && w.random.IntN(2) == 0 { // the join restarts the agents
		away, err = true, c.endAgents()
	}
	c.broker.revoke(false)
	if away {
		c.startAgents()
	}
	return err
}

// withoutRights is a client of an old broker: lists of kinds that the broker does not serve are
// empty.
type withoutRights struct{ client.Client }

func (c withoutRights) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	err := c.Client.List(ctx, into, options...)
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// changeWhileAway changes objects while a cluster's agents are stopped.
func changeWhileAway(ctx context.Context, w *world, c *cluster) error {
	if err := c.endAgents(); err != nil {
		return err
	}
	quiet := slices.DeleteFunc(slices.Clone(acts), func(a act) bool { return a.quiet == 0 || a.stops })
	err := w.happen(ctx, w.someAct(quiet), c)
	pause(ctx, time.Duration(w.random.Int64N(int64(20*time.Second)))) // too short for a lost cluster
	c.startAgents()
	return err
}

// changeNodes creates, changes or deletes a node. Its zone matters for hints. Another cluster
// may export the node's address, and such an endpoint is refused.
func changeNodes(ctx context.Context, w *world, c *cluster) error {
	number := 1 + w.random.IntN(3)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", number), Labels: map[string]string{}}}
	if zone := []string{"a", "b", "c", ""}[w.random.IntN(4)]; zone != "" {
		node.Labels[corev1.LabelTopologyZone] = zone
	}
	from := w.someCluster()
	n := max(1, from.users.address-w.random.IntN(20)) // older pods are gone
	address := netip.AddrFrom4([4]byte{10, byte(200 + from.number), byte(n / 200), byte(1 + n%200)})
	if w.random.IntN(2) == 0 {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.String()}}
	}
	had := c.users.nodes[node.Name]
	if had != nil && w.random.IntN(2) == 0 {
		node.Labels = had.Labels // a change of the zone decides again about all imports
	}
	switch {
	case had == nil:
		c.users.nodes[node.Name] = node
		return c.admin.Create(ctx, node)
	case w.random.IntN(3) == 0:
		delete(c.users.nodes, node.Name)
		return c.admin.Delete(ctx, had)
	}
	node.ResourceVersion = had.ResourceVersion
	c.users.nodes[node.Name] = node
	status := node.Status
	if err := c.admin.Update(ctx, node); err != nil {
		return err
	}
	node.Status = status
	return c.admin.Status().Update(ctx, node)
}

// zones returns the sorted zones of the cluster's nodes.
func (u *users) zones() []string {
	zones := map[string]bool{}
	for _, node := range u.nodes {
		if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
			zones[zone] = true
		}
	}
	return slices.Sorted(maps.Keys(zones))
}

// isHost reports whether an address is a node's.
func (u *users) isHost(address netip.Addr) bool {
	for _, node := range u.nodes {
		if slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == address.String() }) {
			return true
		}
	}
	return false
}

// restored repairs the permissions after a restore, as an administrator would: permissions on
// the broker are kept, and missing permissions are written again.
func (w *world) restored(ctx context.Context) error {
	config := made.Permissions(nil)
	switch err := w.admin.Get(ctx, keyOf(config), config); {
	case err == nil:
		w.permitted = map[string]string{} // not nil: agents still use earlier permissions unless an empty ConfigMap exists
		maps.Copy(w.permitted, config.Data)
		return nil
	case apierrors.IsNotFound(err):
		return w.permit(ctx)
	default:
		return err
	}
}
