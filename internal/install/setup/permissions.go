package setup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

// MemberPermissions is what one member is permitted, and what of its exports is left out because of that.
type MemberPermissions struct {
	// Cluster is the member's id, DefaultRow, or a key of the ConfigMap that is for no member.
	Cluster string `json:"cluster"`
	// Member tells whether there is such a member.
	Member bool `json:"member"`
	// Namespaces are the patterns of namespaces that it may export; ["*"] for all.
	Namespaces []string `json:"namespaces"`
	// Exports is how many services it exports, NotPermitted how many of these are in namespaces that it may not export.
	Exports      int `json:"exports"`
	NotPermitted int `json:"notPermitted"`
	// AnyAddress tells that its endpoints may have any address, and otherwise those in Ranges.
	AnyAddress bool     `json:"anyAddress"`
	Ranges     []string `json:"ranges,omitempty"`
	// Addresses is how many addresses of endpoints it has published, Outside how many of these it may not have.
	Addresses int `json:"addresses"`
	Outside   int `json:"outside"`
	// Mistakes are what is written for it and can't be read: it permits nothing.
	Mistakes []string `json:"mistakes,omitempty"`
	// Examples are some of what is left out.
	Examples []string `json:"examples,omitempty"`
}

// DefaultRow is in place of a member's id in the row of what members without namespaces of their own may export.
const DefaultRow = "*"

// PermissionsChange is a change of what one member is permitted, or members by default. The zero value changes nothing.
type PermissionsChange struct {
	// Cluster is the member's id, or permissions.Default.
	Cluster names.ClusterID
	// SetNamespaces replaces the namespaces that it may export by Namespaces.
	SetNamespaces bool
	Namespaces    permissions.Namespaces
	// SetRanges replaces the ranges that its endpoints may be in by Ranges, nil for any address.
	SetRanges bool
	Ranges    *ranges.Set
	// DryRun changes nothing, and returns what would be.
	DryRun bool
}

// Permissions is what holds after a change.
type Permissions struct {
	// Members are those of the clusterset, and others of which something is written, by their ids.
	Members []MemberPermissions
	// Created tells that there was no ConfigMap, and that the change has created it or would.
	Created bool
}

// ChangePermissions changes what a member of a clusterset is permitted, on its broker, and returns what holds then. It writes once,
// so that nothing is half written.
func ChangePermissions(ctx context.Context, on *install.Target, namespace string, change PermissionsChange) (*Permissions, error) {
	if err := clusterset(ctx, on, namespace); err != nil {
		return nil, err
	}
	config, created, err := change.write(ctx, on, namespace)
	if err != nil {
		return nil, err
	}
	members := &brokerv1alpha1.MemberClusterList{}
	if err := on.List(ctx, members, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing members: %w", err)
	}
	members.Items = slices.DeleteFunc(members.Items, func(m brokerv1alpha1.MemberCluster) bool { return m.Removed() })
	exports := &brokerv1alpha1.ExportedServiceList{}
	if err := on.List(ctx, exports, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing exports: %w", err)
	}
	exports.Items = slices.DeleteFunc(exports.Items, func(e brokerv1alpha1.ExportedService) bool { return layout.Withdrawn(&e) })
	published := &discoveryv1.EndpointSliceList{}
	if err := on.List(ctx, published, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}); err != nil {
		return nil, fmt.Errorf("listing published EndpointSlices: %w", err)
	}
	return &Permissions{Members: listPermissions(config, change.Cluster, members.Items, exports.Items, published.Items), Created: created}, nil
}

// write carries the change out, and returns the ConfigMap as it is then, and whether there was none before.
func (change PermissionsChange) write(ctx context.Context, on *install.Target, namespace string) (config *corev1.ConfigMap, created bool, err error) {
	have := &corev1.ConfigMap{}
	err = on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.MemberPermissions}, have)
	switch {
	case apierrors.IsNotFound(err):
		config := change.of(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: names.MemberPermissions, Labels: map[string]string{install.LabelManagedBy: install.ManagedBy},
		}})
		if change.none() || change.DryRun {
			return config, !change.none(), nil
		}
		if err := on.Create(ctx, config); err != nil {
			return nil, false, fmt.Errorf("creating %s: %w", install.Name(config), err)
		}
		return config, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, names.MemberPermissions, err)
	}
	config = change.of(have.DeepCopy())
	if change.none() || change.DryRun {
		return config, false, nil
	}
	// A merge patch leaves alone what somebody else writes about other members meanwhile.
	if err := on.Patch(ctx, config, client.MergeFrom(have)); err != nil {
		return nil, false, fmt.Errorf("changing %s: %w", install.Name(config), err)
	}
	return config, false, nil
}

func (change PermissionsChange) none() bool { return !change.SetNamespaces && !change.SetRanges }

// of carries the change out on a ConfigMap, which it returns.
func (change PermissionsChange) of(config *corev1.ConfigMap) *corev1.ConfigMap {
	set := func(key string, change, restrict bool, value func() string) {
		if !change {
			return
		}
		delete(config.Data, key)
		delete(config.BinaryData, key)
		if restrict {
			if config.Data == nil {
				config.Data = map[string]string{}
			}
			config.Data[key] = value()
		}
	}
	set(permissions.NamespacesKey(change.Cluster), change.SetNamespaces, true, change.Namespaces.String)
	set(permissions.RangesPrefix+change.Cluster.String(), change.SetRanges, change.Ranges != nil, func() string { return change.Ranges.String() })
	return config
}

// maxExamples is how many examples are given of what is left out of one member.
const maxExamples = 5

// listPermissions returns what a ConfigMap means for members, for what else it is about, and for a cluster that may be neither, "" for none.
func listPermissions(config *corev1.ConfigMap, about names.ClusterID, members []brokerv1alpha1.MemberCluster, exports []brokerv1alpha1.ExportedService, published []discoveryv1.EndpointSlice) []MemberPermissions {
	permitted, mistakes := permissions.Read(config)
	rows := map[string]*MemberPermissions{}
	row := func(id string) *MemberPermissions {
		if rows[id] == nil {
			cluster := names.ClusterID(id)
			if id == DefaultRow {
				cluster = permissions.Default
			}
			rows[id] = newRow(id, permitted.Of(cluster))
		}
		return rows[id]
	}
	for _, m := range members {
		row(m.Name).Member = true
	}
	if about != "" {
		row(about.String())
	}
	for id := range permitted {
		row(cmp.Or(id.String(), DefaultRow))
	}
	for _, m := range mistakes {
		id := cmp.Or(m.Cluster.String(), m.Key)
		if id == permissions.NamespacesKey(permissions.Default) {
			id = DefaultRow
		}
		r := row(id)
		r.Mistakes = append(r.Mistakes, m.Text)
	}
	for i := range exports {
		if r := rows[exports[i].Spec.ClusterID]; r != nil {
			r.countExport(permitted, &exports[i].Spec)
		}
	}
	for i := range published {
		if r := rows[published[i].Labels[names.LabelSourceCluster]]; r != nil {
			r.countAddresses(permitted, &published[i])
		}
	}
	sorted := []MemberPermissions{}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		sorted = append(sorted, *rows[id])
	}
	return sorted
}

func newRow(id string, permitted permissions.Member) *MemberPermissions {
	row := &MemberPermissions{Cluster: id, Namespaces: []string{"*"}, AnyAddress: permitted.Ranges == nil}
	if permitted.Namespaces != nil {
		row.Namespaces = permitted.Namespaces.Texts()
	}
	if permitted.Ranges != nil {
		row.Ranges = permitted.Ranges.Texts()
	}
	return row
}

func (r *MemberPermissions) example(format string, args ...any) {
	if len(r.Examples) < maxExamples {
		r.Examples = append(r.Examples, fmt.Sprintf(format, args...))
	}
}

func (r *MemberPermissions) countExport(permitted permissions.Members, export *brokerv1alpha1.ExportedServiceSpec) {
	r.Exports++
	if !permitted.MayExport(names.ClusterID(r.Cluster), export.ServiceNamespace) {
		r.NotPermitted++
		r.example("%s/%s", export.ServiceNamespace, export.ServiceName)
	}
}

func (r *MemberPermissions) countAddresses(permitted permissions.Members, published *discoveryv1.EndpointSlice) {
	if published.AddressType == discoveryv1.AddressTypeFQDN {
		return
	}
	for _, e := range published.Endpoints {
		for _, text := range e.Addresses {
			r.Addresses++
			address, err := netip.ParseAddr(text)
			if err != nil || !permitted.AllowsAddress(names.ClusterID(r.Cluster), address) {
				r.Outside++
				r.example("%.50s (%s/%s)", text, published.Labels[names.LabelServiceNamespace], published.Labels[names.LabelServiceName])
			}
		}
	}
}
