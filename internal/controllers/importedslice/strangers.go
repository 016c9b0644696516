package importedslice

import (
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// strangers are how many addresses of each part are left out because they can't be another cluster's, or may not be
// that one's, by source slice.
type strangers struct {
	mu sync.Mutex
	of map[local.Part]map[string]int
}

// note takes notice of what is left out of sources: after is what Network.Admit has made of them.
func (s *strangers) note(req Request, sources, after []*discoveryv1.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Slice == "" {
		delete(s.of, req.Part)
	} else {
		delete(s.of[req.Part], req.Slice)
	}
	for i, source := range sources {
		if after[i] == source {
			continue
		}
		if s.of == nil {
			s.of = map[local.Part]map[string]int{}
		}
		if s.of[req.Part] == nil {
			s.of[req.Part] = map[string]int{}
		}
		s.of[req.Part][source.Annotations[names.AnnotationSourceSlice]] += sliceplan.Addresses(source) - sliceplan.Addresses(after[i])
	}
	if len(s.of[req.Part]) == 0 {
		delete(s.of, req.Part)
	}
}

// forget takes notice that nothing is there of a part any more.
func (s *strangers) forget(part local.Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, part)
}

// counts are how many addresses are left out, by source cluster.
func (s *strangers) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for part, bySlice := range s.of {
		for _, n := range bySlice {
			counts[part.Cluster.String()] += n
		}
	}
	return counts
}
