package sliceplan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// endpointsAt are endpoints with the given addresses, in short: letters.
func endpointsAt(addresses string) []discoveryv1.Endpoint {
	var all []discoveryv1.Endpoint
	for _, a := range addresses {
		all = append(all, discoveryv1.Endpoint{Addresses: []string{string(a)}})
	}
	return all
}

// partsAt are parts as "0:abc 2:d".
func partsAt(s string) []part {
	var parts []part
	for _, p := range strings.Fields(s) {
		var number int
		head, addresses, _ := strings.Cut(p, ":")
		_, _ = fmt.Sscan(head, &number)
		parts = append(parts, part{number, endpointsAt(addresses)})
	}
	return parts
}

// written is the reverse of partsAt.
func written(parts []part) string {
	var all []string
	for _, p := range parts {
		s := fmt.Sprintf("%d:", p.number)
		for i := range p.endpoints {
			s += p.endpoints[i].Addresses[0]
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// Pitfall 12: neither one to one beyond the limit, nor everything in one.
func TestDivide(t *testing.T) {
	const limit = 4
	for _, tt := range []struct{ name, source, have, want string }{
		{"nothing", "", "", "0:"},
		{"within the limit", "abcd", "", "0:abcd"},
		{"beyond the limit", "abcdef", "", "0:abcd 1:ef"},
		{"nothing changes", "abcdef", "0:abcd 1:ef", "0:abcd 1:ef"},
		{"the source's order does not matter", "fedcba", "0:abcd 1:ef", "0:abcd 1:ef"},
		{"a new one in front", "xabcdef", "0:abcd 1:ef", "0:abcd 1:efx"},
		{"the first goes", "bcdef", "0:abcd 1:ef", "0:bcd 1:ef"},
		{"one is replaced by another", "bcdefx", "0:abcd 1:ef", "0:bcdx 1:ef"},
		{"the one part that it just fits in", "abcdefghx", "0:ab 1:cde 2:fgh", "0:ab 1:cdex 2:fgh"},
		{"into a part that changes anyway", "bcefgx", "0:abc 1:efg", "0:bcx 1:efg"},
		{"no room", "abcdefghx", "0:abcd 1:efgh", "0:abcd 1:efgh 2:x"},
		{"a number that is free again", "abcdefghx", "0:abcd 2:efgh", "0:abcd 1:x 2:efgh"},
		{"one more than the limit", "abcdx", "0:abcd", "0:abcd 1:x"},
		{"many more", "abcdefghijk", "0:ab", "0:abk 1:cdef 2:ghij"},
		{"the last endpoint of a part", "abcd", "0:abcd 1:x", "0:abcd"},
		{"the last endpoint of all", "", "0:a", "0:"},
		{"the last endpoint of all, in another part", "", "3:a", "3:"},
		{"the first one after that", "a", "3:", "3:a"},
		{"many after that", "abcdef", "3:", "0:ef 3:abcd"},
		{"shrunk, but still half full on average", "abe", "0:abcd 1:e", "0:ab 1:e"},
		{"shrunk below that", "ae", "0:ab 1:e", "0:ae"},
		{"shrunk at once", "af", "0:abcd 1:efgh 2:ijkl", "0:af"},
		{"joined with the fullest that has room", "abcd", "0:ab 1:c 2:d", "0:abd 1:c"},
		{"a lower limit", "abcdefg", "0:abcdefg", "0:abcd 1:efg"},
		{"twice the same", "aab", "0:aa 1:b", "0:aa 1:b"},
		{"once only", "ab", "0:aa 1:b", "0:ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := written(divide(endpointsAt(tt.source), partsAt(tt.have), limit)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEndpointsOfOneAddressStayInTheirParts(t *testing.T) {
	one, other := at("a", "rs"), at("a", "rs")
	for name, change := range map[string]func(){
		"told apart by hostname":   func() { other.Hostname = ptr.To("x") },
		"told apart by conditions": func() { other.Conditions.Ready = ptr.To(false) },
		"told apart by nothing":    func() {},
	} {
		t.Run(name, func(t *testing.T) {
			change()
			have := []part{{0, []discoveryv1.Endpoint{one}}, {1, []discoveryv1.Endpoint{other}}}
			if got := divide([]discoveryv1.Endpoint{other, one}, have, 1); changedParts(have, got) > 0 {
				t.Errorf("got %+v", got)
			}
			other = at("a", "rs")
		})
	}
}

// drawEndpoints draws some of the endpoints that there can be, in any order.
func drawEndpoints(t *rapid.T, name string) []discoveryv1.Endpoint {
	var all []discoveryv1.Endpoint
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 60).Draw(t, name) {
		all = append(all, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.0.0.%d", n)},
			Conditions: discoveryv1.EndpointConditions{Ready: rapid.SampledFrom([]*bool{nil, ptr.To(true), ptr.To(false)}).Draw(t, "ready")},
		})
	}
	return all
}

func checkDivision(t *rapid.T, endpoints []discoveryv1.Endpoint, parts []part, limit int) {
	var addresses, divided []string
	for i := range endpoints {
		addresses = append(addresses, endpointText(&endpoints[i]))
	}
	for i, p := range parts {
		if len(p.endpoints) > limit {
			t.Fatalf("part %d has %d endpoints, more than %d", p.number, len(p.endpoints), limit)
		}
		if len(p.endpoints) == 0 && len(parts) > 1 {
			t.Fatalf("part %d is empty", p.number)
		}
		if i > 0 && parts[i-1].number >= p.number {
			t.Fatalf("parts %v", parts)
		}
		for i := range p.endpoints {
			divided = append(divided, endpointText(&p.endpoints[i]))
		}
	}
	slices.Sort(addresses)
	slices.Sort(divided)
	if !slices.Equal(addresses, divided) {
		t.Fatalf("of %v became %v", addresses, divided)
	}
	if len(parts) == 0 || len(parts) > 1 && 2*len(endpoints) <= (len(parts)-1)*limit {
		t.Fatalf("%d endpoints in %d parts of %d", len(endpoints), len(parts), limit)
	}
}

func endpointText(e *discoveryv1.Endpoint) string { return fmt.Sprint(e.Addresses, isReady(e)) }

// changedParts is how many parts differ between two divisions, those that come or go
// included.
func changedParts(before, after []part) int {
	content := map[int][]discoveryv1.Endpoint{}
	for _, p := range before {
		content[p.number] = p.endpoints
	}
	changed := 0
	for _, p := range after {
		had, found := content[p.number]
		delete(content, p.number)
		if !found || !sameEndpoints(had, p.endpoints) {
			changed++
		}
	}
	return changed + len(content)
}

func TestDivisionsLoseAndDuplicateNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []part
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			limit := rapid.IntRange(1, 12).Draw(t, "limit")
			endpoints := drawEndpoints(t, "endpoints")
			before := parts
			parts = divide(endpoints, before, limit)
			checkDivision(t, endpoints, parts, limit)
			if again := divide(endpoints, parts, limit); changedParts(parts, again) > 0 {
				t.Fatalf("%s became %s without a change", written(parts), written(again))
			}
			if len(before) == 0 && len(endpoints) <= limit && len(parts) != 1 {
				t.Fatalf("%d endpoints in %d parts of %d", len(endpoints), len(parts), limit)
			}
		}
	})
}

// One endpoint that comes, goes or changes is a change of one part, unless it is the one
// with which parts are joined, of which two are left then.
func TestOneEndpointsChangeIsOnePartsChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		endpoints := drawDistinct(t, "endpoints")
		parts := divide(endpoints, divide(drawDistinct(t, "before"), nil, limit), limit)
		for i := range 10 {
			endpoints = drawChange(t, endpoints, fmt.Sprintf("10.1.0.%d", i))
			next := divide(endpoints, parts, limit)
			checkDivision(t, endpoints, next, limit)
			joined := 2*len(endpoints) <= (len(parts)-1)*limit
			if n := changedParts(parts, next); n > 1 && !joined || n > 3 {
				t.Fatalf("%s became %s (joined: %v)", written(parts), written(next), joined)
			}
			parts = next
		}
	})
}

// drawDistinct draws endpoints as drawEndpoints does, none of them twice.
func drawDistinct(t *rapid.T, name string) []discoveryv1.Endpoint {
	seen := map[identity]bool{}
	return slices.DeleteFunc(drawEndpoints(t, name), func(e discoveryv1.Endpoint) bool {
		id := identify(&e)
		again := seen[id]
		seen[id] = true
		return again
	})
}

func drawChange(t *rapid.T, endpoints []discoveryv1.Endpoint, fresh string) []discoveryv1.Endpoint {
	kinds := []string{"comes"}
	if len(endpoints) > 0 {
		kinds = append(kinds, "goes", "changes")
	}
	changed := slices.Clone(endpoints)
	kind := rapid.SampledFrom(kinds).Draw(t, "change")
	if kind == "comes" {
		at := rapid.IntRange(0, len(endpoints)).Draw(t, "at")
		return slices.Insert(changed, at, discoveryv1.Endpoint{Addresses: []string{fresh}})
	}
	at := rapid.IntRange(0, len(endpoints)-1).Draw(t, "at")
	if kind == "goes" {
		return slices.Delete(changed, at, at+1)
	}
	changed[at].Conditions.Ready = ptr.To(!isReady(&changed[at]))
	return changed
}
