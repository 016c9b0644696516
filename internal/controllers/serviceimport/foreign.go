package serviceimport

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// foreign remembers the ServiceImports of others that are in the way of an import and of which
// that was said, so that it is said once: nothing may be written on them. The zero value
// remembers none.
type foreign struct {
	mu   sync.Mutex
	said map[types.NamespacedName]types.UID
}

// news tells whether the ServiceImport of a name is in the way and that was not said yet, and has
// it count as said. One that is not in the way any more is news when it is again.
func (f *foreign) news(name types.NamespacedName, uid types.UID, inTheWay bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !inTheWay {
		delete(f.said, name)
		return false
	}
	if f.said[name] == uid {
		return false
	}
	if f.said == nil {
		f.said = map[types.NamespacedName]types.UID{}
	}
	f.said[name] = uid
	return true
}
