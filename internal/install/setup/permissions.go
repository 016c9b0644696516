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

// MemberPermissions are one member's permissions, and the exports that they exclude.
type MemberPermissions struct {
	// Cluster is the member's ID, DefaultRow, or a key of the ConfigMap that belongs to no member.
	Cluster string `json:"cluster"`
	// Member reports whether such a member exists.
	Member bool `json:"member"`
	// Namespaces are the patterns of namespaces that it may export; ["*"] for all.
	Namespaces []string `json:"namespaces"`
	// Owns are the patterns of namespaces that are reserved, and that it may export.
	Owns []string `json:"owns,omitempty"`
	// Records and Slices are the numbers of ExportedServices and EndpointSlices that it has on the broker. They count towards the quota.
	Records int `json:"records"`
	Slices  int `json:"slices"`
	// Exports is the number of exported services, NotPermitted how many of them are in namespaces that are not
	// permitted.
	Exports      int `json:"exports"`
	NotPermitted int `json:"notPermitted"`
	// AnyAddress means that endpoints may have any address; otherwise only those in Ranges.
	AnyAddress bool     `json:"anyAddress"`
	Ranges     []string `json:"ranges,omitempty"`
	// Addresses is the number of published endpoint addresses, Outside how many of them are not permitted.
	Addresses int `json:"addresses"`
	Outside   int `json:"outside"`
	// Drained means that an administrator of the broker drains the member.
	Drained bool `json:"drained,omitempty"`
	// Frozen means that the broker refuses what the member creates.
	Frozen bool `json:"frozen,omitempty"`
	// Mistakes are invalid settings for the member. They permit nothing.
	Mistakes []string `json:"mistakes,omitempty"`
	// Examples are some of the excluded exports.
	Examples []string `json:"examples,omitempty"`
}

// DefaultRow replaces the ID in the row for members without namespaces of their own.
const DefaultRow = "*"

// PermissionsChange changes the permissions of one member or the defaults. The zero value changes nothing.
type PermissionsChange struct {
	// Cluster is the member's ID, or permissions.Default.
	Cluster names.ClusterID
	// SetNamespaces replaces the permitted namespaces with Namespaces.
	SetNamespaces bool
	Namespaces    permissions.Namespaces
	// SetRanges replaces the permitted ranges of endpoints with Ranges, or nil for any address.
	SetRanges bool
	Ranges    *ranges.Set
	// Owns reserves namespaces for the member, besides their other owners. Disowns ends this: without another owner, they are
	// not reserved any more.
	Owns, Disowns []string
	// SetDrained replaces whether the member is drained with Drained.
	SetDrained, Drained bool
	// SetFrozen replaces whether the member is frozen with Frozen.
	SetFrozen, Frozen bool
	// DryRun returns the result without changing anything.
	DryRun bool
}

// Permissions are the permissions after a change.
type Permissions struct {
	// Members are the clusterset's members and other IDs with settings, by ID.
	Members []MemberPermissions
	// Created means that the change creates the ConfigMap.
	Created bool
}

// ChangePermissions changes a member's permissions on its broker and returns the result. A single write makes the
// change atomic.
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
	published := &discoveryv1.EndpointSliceList{}
	if err := on.List(ctx, published, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}); err != nil {
		return nil, fmt.Errorf("listing published EndpointSlices: %w", err)
	}
	return &Permissions{Members: listPermissions(config, change.Cluster, members.Items, exports.Items, published.Items), Created: created}, nil
}

// write makes the change. It returns the resulting ConfigMap, and whether it is new.
func (change PermissionsChange) write(ctx context.Context, on *install.Target, namespace string) (config *corev1.ConfigMap, created bool, err error) {
	have := &corev1.ConfigMap{}
	err = on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.MemberPermissions}, have)
	switch {
	case apierrors.IsNotFound(err):
		config := change.of(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: names.MemberPermissions, Labels: map[string]string{install.LabelManagedBy: install.ManagedBy},
		}})
		if change.IsEmpty() || change.DryRun {
			return config, !change.IsEmpty(), nil
		}
		if err := on.Create(ctx, config); err != nil {
			return nil, false, fmt.Errorf("creating %s: %w", install.Name(config), err)
		}
		return config, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, names.MemberPermissions, err)
	}
	config = change.of(have.DeepCopy())
	if change.IsEmpty() || change.DryRun {
		return config, false, nil
	}
	// A merge patch keeps concurrent changes for other members.
	if err := on.Patch(ctx, config, client.MergeFrom(have)); err != nil {
		return nil, false, fmt.Errorf("changing %s: %w", install.Name(config), err)
	}
	return config, false, nil
}

// IsEmpty reports whether the change changes nothing.
func (change PermissionsChange) IsEmpty() bool {
	return !change.SetNamespaces && !change.SetRanges && !change.SetDrained && !change.SetFrozen && len(change.Owns)+len(change.Disowns) == 0
}

// of makes the change in a ConfigMap and returns it.
func (change PermissionsChange) of(config *corev1.ConfigMap) *corev1.ConfigMap {
	permitted, _ := permissions.Read(config)
	owned := permitted.OwnedBy(change.Cluster)
	if change.SetNamespaces && len(change.Namespaces.Texts()) > 0 { // what it owns stays
		change.Namespaces = change.Namespaces.With(owned...)
	}
	reserved := permitted[permissions.Default].Reserved
	if len(change.Owns)+len(change.Disowns) > 0 {
		if !change.SetNamespaces {
			change.SetNamespaces, change.Namespaces = true, permissions.All()
			if may := permitted.Of(change.Cluster).Namespaces; may != nil {
				change.Namespaces = *may
			}
		}
		change.Namespaces, reserved = change.Namespaces.With(change.Owns...), reserved.With(change.Owns...)
		change.disown(permitted, &reserved)
	}
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
	set(permissions.Reserved, !reserved.Equal(permitted[permissions.Default].Reserved), len(reserved.Texts()) > 0, reserved.String)
	set(permissions.DrainedPrefix+change.Cluster.String(), change.SetDrained, change.Drained, func() string { return "true" })
	set(permissions.FrozenPrefix+change.Cluster.String(), change.SetFrozen, change.Frozen, func() string { return "true" })
	return config
}

// disown ends the member's ownership of namespaces. It may still export them if it may export all, or if they are not reserved any more.
func (change *PermissionsChange) disown(permitted permissions.Members, reserved *permissions.Namespaces) {
	for _, pattern := range change.Disowns {
		others := slices.ContainsFunc(slices.Collect(maps.Keys(permitted)), func(id names.ClusterID) bool {
			return id != change.Cluster && slices.Contains(permitted.OwnedBy(id), pattern)
		})
		if others || slices.Contains(change.Namespaces.Texts(), "*") {
			change.Namespaces = change.Namespaces.Without(pattern)
		}
		if !others {
			*reserved = reserved.Without(pattern)
		}
	}
}

// maxExamples limits the examples for one member.
const maxExamples = 5

// listPermissions evaluates a ConfigMap for the members, for other IDs with settings, and for about, which may be
// neither or "".
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
			rows[id].Owns = permitted.OwnedBy(cluster)
		}
		return rows[id]
	}
	for _, m := range members {
		row(m.Name).Member = true
	}
	if about != "" {
		row(about.String())
	}
	for id, member := range permitted {
		if id != permissions.Default || member.Namespaces != nil {
			row(cmp.Or(id.String(), DefaultRow))
		}
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
			r.countExport(permitted, &exports[i])
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
	row := &MemberPermissions{Cluster: id, Namespaces: []string{"*"}, AnyAddress: permitted.Ranges == nil, Drained: permitted.Drained, Frozen: permitted.Frozen}
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

func (r *MemberPermissions) countExport(permitted permissions.Members, record *brokerv1alpha1.ExportedService) {
	r.Records++
	if layout.Withdrawn(record) {
		return
	}
	export := &record.Spec
	r.Exports++
	if !permitted.MayExport(names.ClusterID(r.Cluster), export.ServiceNamespace) {
		r.NotPermitted++
		r.example("%s/%s", export.ServiceNamespace, export.ServiceName)
	}
}

func (r *MemberPermissions) countAddresses(permitted permissions.Members, published *discoveryv1.EndpointSlice) {
	r.Slices++
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
