package status

import "sync"

// Announced remembers which parts of objects have had an Event, and with which text. The zero value remembers nothing.
type Announced[O, P comparable] struct {
	mu sync.Mutex
	of map[O]map[P]string
}

// Update replaces the parts of an object. It returns the parts that are new or have a new text, and those that are gone.
func (a *Announced[O, P]) Update(object O, parts map[P]string) (added, gone map[P]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.of[object]
	added, gone = map[P]string{}, map[P]string{}
	for part, text := range parts {
		if last, found := before[part]; !found || last != text {
			added[part] = text
		}
	}
	for part, text := range before {
		if _, found := parts[part]; !found {
			gone[part] = text
		}
	}
	if a.of == nil {
		a.of = map[O]map[P]string{}
	}
	if a.of[object] = parts; len(parts) == 0 {
		delete(a.of, object)
	}
	return added, gone
}
