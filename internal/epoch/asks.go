package epoch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Asks are what a member asks of others, on its heartbeat: by a member's id, the time of the last statement of its that is known, in microseconds.
// A later one is awaited, and has not come.
type Asks map[string]int64

// maxAsks is how many members are asked at once, for a heartbeat is read by all members: those whose statements are the latest.
const maxAsks = 32

// ParseAsks reads what Asks.String has written. It was written by another cluster: what is malformed is left out.
func ParseAsks(text string) Asks {
	asks := Asks{}
	for range maxAsks {
		entry, rest, more := strings.Cut(text, ",")
		id, at, _ := strings.Cut(entry, "=")
		if later, err := strconv.ParseInt(at, 10, 64); err == nil && later > 0 && id != "" {
			asks[id] = later
		}
		if !more {
			break
		}
		text = rest
	}
	return asks
}

// String is what stands on a heartbeat, "" for none.
func (a Asks) String() string {
	ids := slices.SortedFunc(maps.Keys(a), func(x, y string) int { return cmp.Or(cmp.Compare(a[y], a[x]), cmp.Compare(x, y)) })
	var entries []string
	for _, id := range ids[:min(len(ids), maxAsks)] {
		entries = append(entries, fmt.Sprintf("%s=%d", id, a[id]))
	}
	return strings.Join(entries, ",")
}

// Awaited returns the members that have to make a statement, and which theirs has to be later than. Those that have never made
// one are not among them: there is nothing to ask of them.
func (j *Judge) Awaited() Asks {
	asks := Asks{}
	for id, m := range j.members {
		if later := max(m.At, m.After); later > 0 && m.awaited() {
			asks[id] = later
		}
	}
	return asks
}
