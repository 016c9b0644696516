package importedslice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Reasons of Events, and of what the ServiceImport's condition says beside being ready.
const (
	reasonOverlappingRanges = "OverlappingRanges"
	reasonRecordInvalid     = "RecordInvalid"
	reasonEndpointsRefused  = "EndpointsRefused"
	reasonEndpointsLimited  = "EndpointsLimited"
	reasonClusterLost       = "ClusterLost"
)

// remarks are what people should know about the endpoints of each part. The zero value is empty.
type remarks struct {
	mu sync.Mutex
	of map[local.Part]map[string]remark // by reason
}

type remark struct {
	imp  types.UID // of the ServiceImport that it is about
	text string
}

// set keeps a remark, and tells whether an Event should say it: it is new, or another import's. Whether the text alone is news
// the caller says.
func (r *remarks) set(part local.Part, reason string, now remark, textIsNews bool) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[local.Part]map[string]remark{}
	}
	if r.of[part] == nil {
		r.of[part] = map[string]remark{}
	}
	last, had := r.of[part][reason]
	r.of[part][reason] = now
	return !had || last.imp != now.imp || textIsNews && last.text != now.text
}

// clear drops a remark, and tells whether there was one.
func (r *remarks) clear(part local.Part, reason string) (had bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, had = r.of[part][reason]
	delete(r.of[part], reason)
	return had
}

// forget drops all remarks on a part.
func (r *remarks) forget(part local.Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, part)
}

// list returns the remarks on a part, sorted by reason.
func (r *remarks) list(part local.Part) []status.Remark {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []status.Remark
	for _, reason := range slices.Sorted(maps.Keys(r.of[part])) {
		all = append(all, status.Remark{Reason: reason, Message: r.of[part][reason].text})
	}
	return all
}

// parts returns the parts with a remark of a reason.
func (r *remarks) parts(reason string) []local.Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []local.Part
	for part, of := range r.of {
		if _, has := of[reason]; has {
			parts = append(parts, part)
		}
	}
	return parts
}

// report keeps a remark on a part, and records an Event about the import where it is news.
func (c *Controller) report(part local.Part, imp *mcsv1beta1.ServiceImport, reason, text string, textIsNews bool) {
	if c.remarks.set(part, reason, remark{imp.UID, text}, textIsNews) {
		status.Say(c.recorder, imp, c.broker.Reference(part.Cluster), corev1.EventTypeWarning, reason, "Import", text)
	}
}

// refusals count what is left out of each part's slices as invalid or not allowed. The zero value is empty.
type refusals struct {
	mu sync.Mutex
	of map[local.Part]map[string]refusal // by source slice
}

type refusal struct {
	count int
	first string
}

// replace replaces what is known of a slice, or of all slices of a part for "".
func (r *refusals) replace(part local.Part, slice string, now map[string]refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slice == "" {
		delete(r.of, part)
	} else {
		delete(r.of[part], slice)
	}
	for name, of := range now {
		if r.of == nil {
			r.of = map[local.Part]map[string]refusal{}
		}
		if r.of[part] == nil {
			r.of[part] = map[string]refusal{}
		}
		r.of[part][name] = of
	}
	if len(r.of[part]) == 0 {
		delete(r.of, part)
	}
}

// text describes what is left out of a part, "" for nothing.
func (r *refusals) text(part local.Part) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	total, first := 0, ""
	for _, name := range slices.Sorted(maps.Keys(r.of[part])) {
		if of := r.of[part][name]; total == 0 {
			total, first = of.count, of.first
		} else {
			total += of.count
		}
	}
	if total == 0 {
		return ""
	}
	first, _, _ = strings.Cut(first, "; and ")
	if total > 1 {
		first = fmt.Sprintf("%s; and %d more", first, total-1)
	}
	return fmt.Sprintf("Endpoints of cluster %q are not imported: %s. Its other endpoints are. Correct them in that cluster.", part.Cluster, first)
}

// counts returns how much is left out, by source cluster.
func (r *refusals) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[string]int{}
	for part, bySlice := range r.of {
		for _, of := range bySlice {
			counts[part.Cluster.String()] += of.count
		}
	}
	return counts
}

// refusalOf is what was left out of a slice: before it was kept, and now.
func refusalOf(before int, first string, now []validation.Refused) refusal {
	if before == 0 {
		first = validation.Summary(now)
	}
	return refusal{before + len(now), first}
}
