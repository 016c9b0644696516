package cloudprovider

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Reports are whom a provider tells of its backends: what OnReport of a Reporter keeps. The zero
// value has nobody.
type Reports struct {
	mu       sync.Mutex
	handlers map[int]func(types.NamespacedName)
	added    int
}

// On has f called for each Report until stop. When stop has returned, f is called no more.
func (r *Reports) On(f func(types.NamespacedName)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handlers == nil {
		r.handlers = map[int]func(types.NamespacedName){}
	}
	r.added++
	id := r.added
	r.handlers[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.handlers, id)
	}
}

// Report tells that backends of a MultiClusterService can or can't be reached any more.
func (r *Reports) Report(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.handlers {
		f(name)
	}
}
