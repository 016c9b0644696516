package importedslice

import (
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
)

// takenNames are names of imported slices that slices of other people have, by part. The zero value is empty.
type takenNames struct {
	mu sync.Mutex
	of map[local.Part]map[string]bool
}

// add takes names from a failed write, and tells whether one of them is new.
func (t *takenNames) add(part local.Part, err error) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, taken := range controllers.Taken(err) {
		if taken.Ours || t.of[part][taken.Name] {
			continue
		}
		if t.of == nil {
			t.of = map[local.Part]map[string]bool{}
		}
		if t.of[part] == nil {
			t.of[part] = map[string]bool{}
		}
		t.of[part][taken.Name] = true
		news = true
	}
	return news
}

func (t *takenNames) has(part local.Part, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[part][name]
}

func (t *takenNames) forget(part local.Part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, part)
}

// reasonNameTaken is the reason of the Event, and of the remark.
const reasonNameTaken = "NameTaken"

// rename gives those slices of a plan other names whose names are taken, or that have such a name already, and keeps a remark on the
// part about it. What one slice has says nothing of the others.
func (c *Controller) rename(req Request, imp *mcsv1beta1.ServiceImport, plan []discoveryv1.EndpointSlice, have []*discoveryv1.EndpointSlice) {
	existing := map[string]bool{}
	for _, h := range have {
		existing[h.Name] = true
	}
	text := ""
	for i := range plan {
		name := plan[i].Name
		other := names.OtherImportedSlice(name)
		if !c.taken.has(req.Part, name) && (existing[name] || !existing[other]) {
			continue
		}
		plan[i].Name = other
		if text == "" {
			text = fmt.Sprintf("The name of EndpointSlice %s/%s is taken by a slice that Atoll did not make. "+
				"The endpoints of cluster %q are in EndpointSlice %s instead, and receive traffic. Nothing has to be done.", imp.Namespace, name, req.Cluster, other)
		}
	}
	switch {
	case text != "":
		c.report(req.Part, imp, reasonNameTaken, text, req.Slice == "")
	case req.Slice == "":
		c.remarks.clear(req.Part, reasonNameTaken)
	}
}
