package view

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// member is what is believed of a member.
type member struct {
	cluster    *brokerv1alpha1.MemberCluster // the last one; nil before the first
	membership belief.Membership
}

// permitted are the permissions that count, and the ConfigMap that has them.
type permitted struct {
	members permissions.Members
	from    *corev1.ConfigMap // nil before the first
	kept    bool              // the broker has another one, which is empty
}

// AppliedMember records the last revision of its MemberCluster that showed a member as present, and AppliedPermissions the permissions
// that counted, as a process before this one saw them. Call them before Follow.
func (v *View) AppliedMember(id names.ClusterID, seen belief.Revision) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.members[id] == nil {
		v.members[id] = &member{membership: belief.Membership{Seen: seen}}
	}
}

// AppliedPermissions is described at AppliedMember.
func (v *View) AppliedPermissions(config *corev1.ConfigMap) {
	if seen, _ := v.PermissionsFrom(); seen == nil {
		v.permit(config)
	}
}

// Cluster returns a member's last MemberCluster, or nil. Callers must not change it.
func (v *View) Cluster(id names.ClusterID) *brokerv1alpha1.MemberCluster {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if m := v.members[id]; m != nil {
		return m.cluster
	}
	return nil
}

// Memberships returns what is believed of the members' MemberClusters.
func (v *View) Memberships() map[names.ClusterID]belief.Membership {
	v.mu.RLock()
	defer v.mu.RUnlock()
	all := make(map[names.ClusterID]belief.Membership, len(v.members))
	for id, m := range v.members {
		all[id] = m.membership
	}
	return all
}

// Removed reports whether a member has left the clusterset, or was removed. If a restored backup says so, it does not count.
func (v *View) Removed(id names.ClusterID) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.isRemoved(id)
}

func (v *View) isRemoved(id names.ClusterID) bool {
	return v.members[id] != nil && v.members[id].membership.Removed
}

// Permissions returns the members' permissions. If their ConfigMap is missing, or was created again without keys, its last content
// applies: administrators must write it to permit more. Callers must not change them.
func (v *View) Permissions() permissions.Members {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.permitted.members
}

// PermissionsFrom returns the ConfigMap of Permissions, nil before the first, and whether the broker has another one, which is
// empty. Callers must not change it.
func (v *View) PermissionsFrom() (config *corev1.ConfigMap, kept bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.permitted.from, v.permitted.kept
}

func (v *View) permit(config *corev1.ConfigMap) {
	members, _ := permissions.Read(config) // atoll broker members list shows mistakes
	v.mu.Lock()
	before := v.permitted
	if before.from != nil && before.from.UID != config.UID && isEmpty(config) && !isEmpty(before.from) {
		v.permitted.kept = true
	} else {
		v.permitted = permitted{members: members, from: config}
	}
	same := reflect.DeepEqual(before.members, v.permitted.members) && before.kept == v.permitted.kept // as on a new connection
	v.mu.Unlock()
	if !same {
		v.changes.Publish(kit.Scope{})
	}
}

func isEmpty(config *corev1.ConfigMap) bool { return len(config.Data)+len(config.BinaryData) == 0 }

// member records a MemberCluster, and publishes the member if it has changed since everything is known. If a removed member has
// joined again, its revisions may start at any number.
func (v *View) member(cluster *brokerv1alpha1.MemberCluster) {
	id, same := names.ClusterID(cluster.Name), false
	v.change(func(now time.Time) {
		m := v.members[id]
		if m == nil {
			m = &member{}
			v.members[id] = m
		}
		was := m.membership.Removed
		m.membership = m.membership.See(belief.Revision{UID: cluster.UID, Generation: cluster.Generation}, cluster.Removed())
		same = m.cluster != nil && sameVersion(m.cluster, cluster)
		if m.cluster = cluster; was != m.membership.Removed {
			for _, k := range v.ofMembers() {
				k.owner(id, was, now)
			}
		}
	})
	if !same && v.Known() {
		v.changes.Publish(kit.Scope{Member: id})
	}
}
