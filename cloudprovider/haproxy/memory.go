package haproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/cloudprovider/addresses"
)

// The next hub reads these files before it changes anything. One file per load balancer keeps an update to one write.

func (p *Provider) memories() string { return filepath.Join(p.dir, "balancers") }

func (p *Provider) memory(name types.NamespacedName) string {
	return filepath.Join(p.memories(), name.Namespace+"_"+name.Name+".json")
}

func (p *Provider) remember(b *balancer) error {
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encoding load balancer %s: %w", b.Name, err)
	}
	if before, err := os.ReadFile(p.memory(b.Name)); err == nil && bytes.Equal(before, data) {
		return nil
	}
	return replaceFile(p.memory(b.Name), data)
}

func (p *Provider) forget(name types.NamespacedName) error {
	if !label.MatchString(name.Namespace) || !label.MatchString(name.Name) {
		return nil // such a name never had a file
	}
	if err := os.Remove(p.memory(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("deleting the stored state of load balancer %s: %w", name, err)
	}
	return nil
}

// recall reads the files of the previous hub. It skips an unreadable file; the hub re-creates that load balancer
// later.
func (p *Provider) recall() error {
	if err := os.MkdirAll(p.memories(), 0o700); err != nil {
		return fmt.Errorf("creating HAProxy's directory (option %s): %w", optionDir, err)
	}
	files, err := filepath.Glob(filepath.Join(p.memories(), "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		b := &balancer{}
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, b)
		}
		if err == nil && p.memory(b.Name) != file {
			err = errors.New("the file belongs to another load balancer")
		}
		if err == nil {
			err = b.check()
		}
		if err == nil {
			err = p.reserve(b)
		}
		if err != nil {
			p.log.Warn("The hub cannot restore a load balancer that a previous hub stored. The hub creates the load balancer again.", "file", file, "error", err)
			_ = os.Remove(file)
			continue
		}
		p.balancers[b.Name] = b
		p.changed[b.Name] = true // the previous hub may have stopped before it told HAProxy, and health is unknown
	}
	return nil
}

// reserve keeps the load balancer's addresses from others. It fails when the status has other addresses, because
// another hub has led since.
func (p *Provider) reserve(b *balancer) error {
	if had, is := p.pool.Had(b.Name); is && !slices.Equal(had, b.Addresses) {
		return fmt.Errorf("the status has the addresses %v, but the stored addresses are %v", had, b.Addresses)
	}
	r := addresses.Request{Former: b.Addresses}
	for _, a := range b.Addresses {
		r.Families = append(r.Families, addresses.FamilyOf(a))
	}
	for _, l := range b.Listens {
		if !label.MatchString(b.Name.Namespace) || !label.MatchString(b.Name.Name) || len(l.Binds) == 0 ||
			l.Name != fmt.Sprintf("%s_%s_%d", b.Name.Namespace, b.Name.Name, l.Binds[0].Port()) {
			return fmt.Errorf("%q is not a HAProxy section of MultiClusterService %s", l.Name, b.Name)
		}
		r.Ports = append(r.Ports, addresses.Port{Protocol: "TCP", Number: int32(l.Binds[0].Port())})
	}
	assigned, err := p.pool.Assign(b.Name, r)
	if err == nil && !slices.Equal(assigned, b.Addresses) {
		p.pool.Release(b.Name)
		err = fmt.Errorf("the addresses %v are used by another load balancer, or are no longer in the hub's --lb-addresses", b.Addresses)
	}
	return err
}

// replaceFile replaces a file atomically.
func replaceFile(path string, data []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
