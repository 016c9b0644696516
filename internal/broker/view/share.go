package view

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

// rank keeps oldest current after changes of records, and returns the others of which that changes the answer. Members that do not
// have too many records are not ranked.
func (v *View) rank(changed []kit.Scope) (more []kit.Scope) {
	if !v.records.objects.complete {
		return nil
	}
	if v.oldest == nil { // everything has just become known
		v.oldest = map[names.ClusterID]*share.Oldest{}
		for id := range v.records.objects.entries {
			v.rankAll(id)
		}
		return nil
	}
	for _, record := range changed {
		oldest, all := v.oldest[record.Member], len(v.records.objects.entries[record.Member])
		switch {
		case oldest == nil && all > v.limit:
			more = append(more, v.rankAll(record.Member)...)
		case oldest != nil && all <= v.limit:
			delete(v.oldest, record.Member) // its last change has brought back the only one that was too many
		}
		if oldest != nil {
			more = append(more, scopes(record.Member, v.rankOne(oldest, record))...)
		}
	}
	return more
}

// rankAll ranks a member's records if they are too many, and returns those that are.
func (v *View) rankAll(id names.ClusterID) (beyond []kit.Scope) {
	records := v.records.objects.entries[id]
	if len(records) <= v.limit {
		return nil
	}
	oldest := share.NewOldest(v.limit)
	for key := range records {
		v.rankOne(oldest, key)
	}
	v.oldest[id] = oldest
	for key := range records {
		if oldest.Exceeds(key.Service) {
			beyond = append(beyond, kit.Scope{Member: id, Service: key.Service})
		}
	}
	return beyond
}

func (v *View) rankOne(oldest *share.Oldest, record kit.Scope) (changed []types.NamespacedName) {
	e := v.records.objects.find(kit.Scope{Member: record.Member, Service: record.Service})
	if e == nil || e.believed == nil {
		return oldest.Delete(record.Service)
	}
	return oldest.Set(record.Service, e.believed.Value.Spec.ExportedAt.Time) // also while its content is read
}

func scopes(id names.ClusterID, services []types.NamespacedName) (all []kit.Scope) {
	for _, service := range services {
		all = append(all, kit.Scope{Member: id, Service: service})
	}
	return all
}

// exceeds reports whether a member's record does not count because the member has too many that are older.
func (v *View) exceeds(id names.ClusterID, service types.NamespacedName) bool {
	return v.oldest[id] != nil && v.oldest[id].Exceeds(service)
}

// TooManyOf returns the members whose records of a service do not count because those members have too many.
func (v *View) TooManyOf(service types.NamespacedName) (ids []names.ClusterID) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if len(v.oldest) == 0 {
		return nil
	}
	for _, key := range v.records.objects.services.of(service) {
		if v.exceeds(key.Member, service) {
			ids = append(ids, key.Member)
		}
	}
	return ids
}

// TooMany returns how many records of each member do not count because it has too many.
func (v *View) TooMany() map[names.ClusterID]int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	all := map[names.ClusterID]int{}
	for id, oldest := range v.oldest {
		all[id] = oldest.TooMany()
	}
	return all
}
