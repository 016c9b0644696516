package podrunner

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// addresses hands out the addresses of a node's Pods. Each Pod has a number,
// which picks one address of each range. Numbers are taken in turn, so that an
// address that was released is not used again before all others were; the turn
// is kept in a file, for another runner to go on with.
type addresses struct {
	ranges []netip.Prefix
	file   string
	size   uint32 // numbers are 2 to size-1; 1 is the gateway's

	mu    sync.Mutex
	next  uint32
	inUse map[uint32]bool
}

func newAddresses(ranges []netip.Prefix, file string) (*addresses, error) {
	a := &addresses{ranges: ranges, file: file, size: 1 << 16, next: 2, inUse: map[uint32]bool{}}
	for _, r := range ranges {
		if bits := r.Addr().BitLen() - r.Bits(); bits < 16 {
			size := uint32(1) << bits
			if r.Addr().Is4() {
				size-- // the broadcast address
			}
			a.size = min(a.size, size)
		}
	}
	if a.size < 3 {
		return nil, fmt.Errorf("pod ranges %v are too small", ranges)
	}
	if text, err := os.ReadFile(file); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil && uint32(n) < a.size {
			a.next = max(uint32(n), 2)
		}
	}
	return a, nil
}

// take returns a free number and its addresses, in the order of the ranges.
func (a *addresses) take() (uint32, []netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range a.size {
		n := a.next
		if a.next++; a.next >= a.size {
			a.next = 2
		}
		if a.inUse[n] {
			continue
		}
		if err := writeFile(a.file, strconv.Itoa(int(a.next))+"\n"); err != nil {
			return 0, nil, fmt.Errorf("keeping note of used addresses: %w", err)
		}
		a.inUse[n] = true
		return n, a.numbered(n), nil
	}
	return 0, nil, errors.New("no free pod address on the node")
}

func (a *addresses) release(n uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.inUse, n)
}

// gateways are the node's own addresses towards its Pods.
func (a *addresses) gateways() []netip.Addr { return a.numbered(1) }

func (a *addresses) numbered(n uint32) []netip.Addr {
	var all []netip.Addr
	for _, r := range a.ranges {
		bytes := r.Masked().Addr().AsSlice()
		for i, rest := len(bytes)-1, n; rest > 0; i, rest = i-1, rest>>8 {
			bytes[i] += byte(rest)
		}
		addr, _ := netip.AddrFromSlice(bytes)
		all = append(all, addr)
	}
	return all
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
