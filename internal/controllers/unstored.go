package controllers

import (
	"crypto/sha256"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Unstored remembers what an API server takes and does not store: an older one drops fields
// that it does not know, and an admission webhook may turn a slice back to what it was. The
// same would be written again at every event, to no effect. The slices are those of Ks. The zero value
// remembers nothing.
type Unstored[K comparable] struct {
	mu sync.Mutex
	of map[K]map[types.UID]attempt
}

// attempt is what was sent for a version of a slice and left it as it was.
type attempt struct {
	version string
	sent    [sha256.Size]byte
}

// Leave returns changes of a K's slices without the updates to want that were made already, and came to nothing.
func (u *Unstored[K]) Leave(key K, changes sliceplan.Changes, want []discoveryv1.EndpointSlice) sliceplan.Changes {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of[key]
	if len(of) == 0 {
		return changes
	}
	tried := func(s *discoveryv1.EndpointSlice) bool {
		before, found := of[s.UID]
		return found && before.version == s.ResourceVersion && before.sent == digest(named(want, s.Name))
	}
	changes.Update = slices.DeleteFunc(changes.Update, tried)
	changes.Release = slices.DeleteFunc(changes.Release, tried)
	return changes
}

// Note takes notice of what has become of updates to want, when they were written. before has
// the versions that they were decided on.
func (u *Unstored[K]) Note(key K, before map[types.UID]string, changes sliceplan.Changes, want []discoveryv1.EndpointSlice) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of[key]
	for _, s := range slices.Concat(changes.Update, changes.Release) {
		version, known := before[s.UID]
		switch {
		case known && s.ResourceVersion == "": // see Writer.Slices
			if of == nil {
				of = map[types.UID]attempt{}
			}
			of[s.UID] = attempt{version, digest(named(want, s.Name))}
		default:
			delete(of, s.UID)
		}
	}
	for _, s := range changes.Delete {
		delete(of, s.UID)
	}
	u.keep(key, of)
}

// keep is called with mu held.
func (u *Unstored[K]) keep(key K, of map[types.UID]attempt) {
	if len(of) == 0 {
		delete(u.of, key)
		return
	}
	if u.of == nil {
		u.of = map[K]map[types.UID]attempt{}
	}
	u.of[key] = of
}

// Forget is called when there is nothing of a K any more.
func (u *Unstored[K]) Forget(key K) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, key)
}

// Versions returns the versions that updates are decided on, for Note.
func Versions(changes sliceplan.Changes) map[types.UID]string {
	versions := make(map[types.UID]string, len(changes.Update)+len(changes.Release))
	for _, s := range slices.Concat(changes.Update, changes.Release) {
		versions[s.UID] = s.ResourceVersion
	}
	return versions
}

func named(list []discoveryv1.EndpointSlice, name string) *discoveryv1.EndpointSlice {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func digest(s *discoveryv1.EndpointSlice) [sha256.Size]byte {
	if s == nil {
		return [sha256.Size]byte{}
	}
	data, _ := s.Marshal() // it fails for no slice
	return sha256.Sum256(data)
}

// Took tells whether any of the changes, which were decided on versions, were made: updates may
// have come too late, all of them.
func Took(versions map[types.UID]string, changes sliceplan.Changes) bool {
	return len(changes.Replace)+len(changes.Create)+len(changes.Delete) > 0 ||
		slices.ContainsFunc(slices.Concat(changes.Update, changes.Release), func(s *discoveryv1.EndpointSlice) bool { return wrote(s, versions) })
}

// wrote tells whether a slice that was to be created, or updated from one of versions, was. One that the API server has
// left as it was has no version any more (see Writer.Slices).
func wrote(s *discoveryv1.EndpointSlice, versions map[types.UID]string) bool {
	return s.ResourceVersion != versions[s.UID]
}
