package loadbalancer

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// OwnCluster is the network of the hub's cluster, and the address ranges of flags. Only the member that
// is this cluster may have backends there: another member would reach the cluster's pods, Services and nodes through the
// hub.
type OwnCluster struct {
	reader client.Reader // bypasses caches; nil outside a cluster
	flags  validation.Network
	uid    string

	mu       sync.Mutex
	services []netip.Prefix
	nodes    map[string]node
	// addresses and pods are those of all nodes. They are computed when they are needed.
	outdated  bool
	addresses map[netip.Addr]bool
	pods      ranges.Set
	changed   func()
}

// node is a node's addresses and pod ranges.
type node struct {
	addresses []netip.Addr
	pods      []string
}

// ReadOwnCluster returns the cluster's network without its nodes, which Follow adds. reader bypasses caches, and is nil
// outside a cluster. flags are the Service and pod ranges of flags. Pod ranges of flags replace those of nodes.
func ReadOwnCluster(ctx context.Context, reader client.Reader, flags validation.Network, log *slog.Logger) (*OwnCluster, error) {
	o := &OwnCluster{reader: reader, flags: flags, nodes: map[string]node{}, changed: func() {}}
	if reader == nil {
		return o, nil
	}
	kubeSystem := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, kubeSystem); err != nil {
		return nil, fmt.Errorf("reading the UID of the hub's cluster: %w", err)
	}
	o.uid = string(kubeSystem.UID)
	if _, err := o.readServices(ctx); err != nil {
		return nil, err
	}
	if len(o.services)+len(flags.Services) == 0 {
		log.Warn("The Service ranges of the hub's cluster are unknown, because only Kubernetes 1.33 and later publish ServiceCIDR objects. " +
			"The hub does not refuse backends with addresses of the cluster's Services. Set --service-cidr")
	}
	return o, nil
}

// Follow keeps the nodes current until ctx is done. It returns when all are known.
func (o *OwnCluster) Follow(ctx context.Context, from cache.Cache) error {
	return kit.Follow(ctx, from, &corev1.Node{}, o.setNode)
}

// StripNode reduces a cached Node to the fields that OwnCluster and the cache read.
func StripNode(object any) (any, error) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return object, nil // a tombstone (cache.DeletedFinalStateUnknown)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion},
		Spec:       corev1.NodeSpec{PodCIDRs: n.Spec.PodCIDRs},
		Status:     corev1.NodeStatus{Addresses: n.Status.Addresses},
	}, nil
}

func (o *OwnCluster) setNode(_ context.Context, e kit.Event[*corev1.Node]) {
	name, now := e.Latest().Name, node{}
	if !e.Deleted() {
		for _, a := range e.New.Status.Addresses {
			if address, err := netip.ParseAddr(a.Address); err == nil { // else a name
				now.addresses = append(now.addresses, address.Unmap())
			}
		}
		now.pods = e.New.Spec.PodCIDRs
	}
	o.mu.Lock()
	last := o.nodes[name]
	same := slices.Equal(last.addresses, now.addresses) && slices.Equal(last.pods, now.pods)
	if o.nodes[name] = now; e.Deleted() {
		delete(o.nodes, name)
	}
	o.outdated = o.outdated || !same
	changed := o.changed
	o.mu.Unlock()
	if !same {
		changed()
	}
}

// readServices reads the Service ranges, and returns whether they have changed.
func (o *OwnCluster) readServices(ctx context.Context) (changed bool, err error) {
	if o.reader == nil {
		return false, nil
	}
	list := &networkingv1.ServiceCIDRList{}
	if err := o.reader.List(ctx, list); meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil // before Kubernetes 1.33
	} else if err != nil {
		return false, fmt.Errorf("listing the Service ranges of the hub's cluster: %w", err)
	}
	var texts []string
	for _, each := range list.Items {
		texts = append(texts, each.Spec.CIDRs...)
	}
	network, err := validation.ParseNetwork(texts, nil)
	if err != nil {
		return false, fmt.Errorf("reading the Service ranges of the hub's cluster: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	changed = !slices.Equal(o.services, network.Services)
	o.services = network.Services
	return changed, nil
}

// is reports whether a member is the hub's cluster. A member can claim its UID, so only a member with
// permitted ranges counts.
func (o *OwnCluster) is(member *brokerv1alpha1.MemberCluster, hasRanges bool) bool {
	return hasRanges && member != nil && !member.Removed() && o.uid != "" && member.Spec.ClusterUID == o.uid
}

// refuse adds the cluster's addresses to those that a network refuses.
func (o *OwnCluster) refuse(n validation.Network) validation.Network {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.outdated {
		o.sum()
	}
	isHost, addresses := n.IsHost, o.addresses
	n.IsHost = func(a netip.Addr) bool { return addresses[a] || isHost != nil && isHost(a) }
	n.Services = slices.Concat(n.Services, o.flags.Services, o.services)
	if n.Pods = o.flags.Pods; len(n.Pods) == 0 {
		n.Learned = learned{o.pods}
	}
	return n
}

// sum computes addresses and pods. The caller holds mu.
func (o *OwnCluster) sum() {
	addresses, pods := map[netip.Addr]bool{}, []string{}
	for _, n := range o.nodes {
		for _, a := range n.addresses {
			addresses[a] = true
		}
		pods = append(pods, n.pods...)
	}
	o.addresses, o.outdated = addresses, false
	o.pods, _ = ranges.Parse(strings.Join(pods, ",")) // the API server validates podCIDRs
}

// learned are nodes' pod ranges for a validation.Network.
type learned struct{ ranges.Set }

// All implements validation.Ranges.
func (l learned) All() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range l.Texts() {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
