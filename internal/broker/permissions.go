package broker

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Permissions are the members' permissions, from the cache. If the ConfigMap is missing, its last content applies:
// administrators must write it to permit more.
type Permissions struct {
	key client.ObjectKey

	mu      sync.Mutex
	from    client.Reader
	version string
	members permissions.Members
}

// NewPermissions returns the permissions in a clusterset.
func NewPermissions(from client.Reader, clusterset string) *Permissions {
	return &Permissions{from: from, key: client.ObjectKey{Namespace: clusterset, Name: names.MemberPermissions}}
}

// Read replaces the cache that the ConfigMap is read from.
func (p *Permissions) Read(from client.Reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from, p.version = from, ""
}

// Members returns the members' permissions. Callers must not change them.
func (p *Permissions) Members() permissions.Members {
	p.mu.Lock()
	from := p.from
	p.mu.Unlock()
	config := &corev1.ConfigMap{}
	err := from.Get(context.Background(), p.key, config, client.UnsafeDisableDeepCopy) // from memory
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && config.ResourceVersion != p.version {
		p.version = config.ResourceVersion
		p.members, _ = permissions.Read(config) // atoll broker members list shows mistakes
	}
	return p.members
}
