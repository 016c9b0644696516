package local

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

func sliceOf(name string, version int, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: strconv.Itoa(version)}}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

func TestOneAddressInTwoWaysOfWritingOverlaps(t *testing.T) {
	o := NewOverlaps(nil)
	slices := []*discoveryv1.EndpointSlice{sliceOf("a", 1, "fd00::1"), sliceOf("b", 1, "fd00:0::1")}
	all := func() []*discoveryv1.EndpointSlice { return slices }
	o.alone(web, "a", slices[0], all)
	if o.alone(web, "a", slices[0], all) {
		t.Error("they are said not to overlap")
	}
}

// An address that a slice holds twice is its own affair.
func TestASliceDoesNotOverlapItself(t *testing.T) {
	o := NewOverlaps(nil)
	s := sliceOf("a", 1, "1", "1")
	all := func() []*discoveryv1.EndpointSlice { return []*discoveryv1.EndpointSlice{s} }
	o.alone(web, "a", s, all)
	if !o.alone(web, "a", s, all) {
		t.Error("it is said to")
	}
}

// A slice may have held before what another one holds still: the other has to be dealt with
// as well, and nobody has seen that.
func TestWhatWasBeforeTheFirstQuestionIsUnknown(t *testing.T) {
	o := NewOverlaps(nil)
	all := func() []*discoveryv1.EndpointSlice {
		return []*discoveryv1.EndpointSlice{sliceOf("a", 2, "2"), sliceOf("b", 1, "1")} // a had 1 too
	}
	if o.alone(web, "a", all()[0], all) {
		t.Error("it is said to be alone")
	}
	if !o.alone(web, "a", all()[0], all) {
		t.Error("now it is known, and it is said not to be alone")
	}
}

// Two of the EndpointSlice controller's share an address, and are left as they are, until there is a slice of somebody else's: then
// all are searched, although that one shares nothing.
func TestWhoHasOthersBeSearchedIsNotAlone(t *testing.T) {
	o := NewOverlaps(nil)
	there := []*discoveryv1.EndpointSlice{builtIn(sliceOf("a", 1, "1")), builtIn(sliceOf("b", 1, "1"))}
	all := func() []*discoveryv1.EndpointSlice { return there }
	o.alone(web, "a", there[0], all)
	for _, step := range []struct {
		what  string
		slice *discoveryv1.EndpointSlice
		want  bool
	}{
		{"one more of the controller's", builtIn(sliceOf("c", 1, "2")), true},
		{"it is somebody's now", somebodys(sliceOf("c", 2, "2")), false},
		{"it has changed", somebodys(sliceOf("c", 3, "3")), true},
		{"it has domain names", func() *discoveryv1.EndpointSlice {
			s := somebodys(sliceOf("c", 4, "example.com"))
			s.AddressType = discoveryv1.AddressTypeFQDN
			return s
		}(), false},
		{"and addresses again", somebodys(sliceOf("c", 5, "3")), false},
		{"it is gone", nil, false},
	} {
		if got := o.alone(web, "c", step.slice, all); got != step.want {
			t.Errorf("%s: alone %t", step.what, got)
		}
	}
}

func builtIn(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	s.AddressType, s.Labels = discoveryv1.AddressTypeIPv4, map[string]string{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
	return s
}

func somebodys(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	s.AddressType, s.Labels = discoveryv1.AddressTypeIPv4, map[string]string{discoveryv1.LabelManagedBy: "somebody.example.com"}
	return s
}

// Whatever happens to slices: one is alone if neither before nor after it holds what
// another one holds, and it is not the only one that may.
func TestAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := NewOverlaps(nil)
		there := map[string]*discoveryv1.EndpointSlice{}
		version := 0
		draw := func(name string) *discoveryv1.EndpointSlice {
			version++
			s := sliceOf(name, version, rapid.SliceOfN(rapid.StringMatching(`[1-9]`), 0, 3).Draw(t, "addresses")...)
			return rapid.SampledFrom([]func(*discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice{builtIn, somebodys}).Draw(t, "whose")(s)
		}
		searched := func() bool {
			for _, s := range there {
				if sliceplan.MayOverlap(s) {
					return true
				}
			}
			return false
		}
		others := func(name string, of *discoveryv1.EndpointSlice) bool {
			if of == nil {
				return false
			}
			for other, s := range there {
				for i := range s.Endpoints {
					if other != name && slices.ContainsFunc(of.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == s.Endpoints[i].Addresses[0] }) {
						return true
					}
				}
			}
			return false
		}
		for i := range 4 { // what there is before anything is asked
			if rapid.Bool().Draw(t, "there") {
				name := fmt.Sprint("s", i)
				there[name] = draw(name)
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			name := fmt.Sprint("s", rapid.IntRange(0, 3).Draw(t, "name"))
			before, after, wereSearched := there[name], there[name], searched()
			switch rapid.SampledFrom([]string{"changes", "goes", "stays"}).Draw(t, "change") {
			case "changes":
				after = draw(name)
				there[name] = after
			case "goes":
				after = nil
				delete(there, name)
			}
			all := func() []*discoveryv1.EndpointSlice {
				var all []*discoveryv1.EndpointSlice
				for _, s := range there {
					all = append(all, s)
				}
				return all
			}
			known := o.services[web] != nil
			want := known && !others(name, after) && !others(name, before) && searched() == wereSearched
			if got := o.alone(web, name, after, all); got != want {
				t.Fatalf("%s: alone %v, want %v", name, got, want)
			}
		}
		for name := range there {
			delete(there, name)
			o.alone(web, name, nil, func() []*discoveryv1.EndpointSlice { return nil })
		}
		if len(o.services) > 0 && len(o.services[web].holders)+len(o.services[web].of)+o.services[web].strange > 0 {
			t.Fatalf("left: %+v", o.services[web])
		}
	})
}
