package memory

import (
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
)

const (
	// keyPlace is the key of the namespace's UID. No cluster has it for its id.
	keyPlace = "_namespace"
	// keyAllowed begins the keys of the ranges that the broker's owner allows a member, whose id is the rest.
	keyAllowed = "_allowed."
	// awaited follows the time of a member's last statement where another one is awaited.
	awaited = " awaited"
	// outdated follows where, moreover, what there is of the member may be an earlier state.
	outdated = " since a restore"
	// silent stands for the time where the member makes no statements.
	silent = "none"
)

// Memory is what outlasts a process.
type Memory struct {
	Epoch   epoch.Memory
	Allowed ranges.Allowed
}

// encode writes for each member when it has last said that all is published, and which addresses it may have, for
// people to read.
func encode(m Memory) map[string]string {
	data := map[string]string{keyPlace: m.Epoch.Place}
	for id, set := range m.Allowed {
		data[keyAllowed+id.String()] = set.String()
	}
	for id, known := range m.Epoch.Members {
		at := known.At
		if known.Awaited {
			at = known.After
		}
		value := silent
		if at != 0 {
			value = time.UnixMicro(at).UTC().Format(time.RFC3339Nano)
		}
		if known.Awaited {
			value += awaited
		}
		if known.Outdated {
			value += outdated
		}
		data[id] = value
	}
	return data
}

// decode reads what encode wrote. What somebody else has written is not remembered.
func decode(data map[string]string) Memory {
	m := Memory{Epoch: epoch.Memory{Place: data[keyPlace], Members: map[string]epoch.Known{}}, Allowed: ranges.Allowed{}}
	for id, value := range data {
		if member, found := strings.CutPrefix(id, keyAllowed); found {
			if cluster, err := names.ParseClusterID(member); err == nil {
				m.Allowed[cluster], _ = ranges.Parse(value) // what is no range allows nothing
			}
			continue
		}
		if _, err := names.ParseClusterID(id); err != nil {
			continue
		}
		var known epoch.Known
		value, known.Outdated = strings.CutSuffix(value, outdated)
		text, found := strings.CutSuffix(value, awaited)
		if text != silent {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				continue
			}
			known.At = at.UnixMicro()
		}
		if found {
			known.Awaited, known.After = true, known.At
		}
		m.Epoch.Members[id] = known
	}
	return m
}
