package podrunner

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// addresses hands out the addresses of a node's Pods. Each Pod has a number,
// which picks one address of each range. What was released longest ago is used
// first, so that a client's old knowledge of an address rarely leads it to
// another Pod. The number that was taken last is kept in a file, for another
// runner to go on after it.
type addresses struct {
	ranges []netip.Prefix
	file   string

	mu   sync.Mutex
	free []uint32
}

// maxNumber bounds the numbers in large ranges.
const maxNumber = 1 << 16

func newAddresses(ranges []netip.Prefix, file string) (*addresses, error) {
	end := uint32(maxNumber)
	for _, r := range ranges {
		if bits := r.Addr().BitLen() - r.Bits(); bits < 16 {
			size := uint32(1) << bits
			if r.Addr().Is4() {
				size-- // the broadcast address
			}
			end = min(end, size)
		}
	}
	const first = 2 // 1 is the gateway's
	if end <= first {
		return nil, fmt.Errorf("pod ranges %v are too small", ranges)
	}
	a := &addresses{ranges: ranges, file: file}
	for n := uint32(first); n < end; n++ {
		a.free = append(a.free, n)
	}
	if text, err := os.ReadFile(file); err == nil {
		last, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
		if i := slices.Index(a.free, uint32(last)); err == nil && i >= 0 {
			a.free = slices.Concat(a.free[i+1:], a.free[:i+1])
		}
	}
	return a, nil
}

// take returns a free number and its addresses, in the order of the ranges.
func (a *addresses) take() (uint32, []netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.free) == 0 {
		return 0, nil, errors.New("no free pod address on the node")
	}
	n := a.free[0]
	if err := writeFile(a.file, strconv.Itoa(int(n))+"\n"); err != nil {
		return 0, nil, fmt.Errorf("keeping note of used addresses: %w", err)
	}
	a.free = a.free[1:]
	return n, a.numbered(n), nil
}

func (a *addresses) release(n uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = append(a.free, n)
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
