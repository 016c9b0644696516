package memory

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/permissions"
)

const (
	// keyPlace is the key of the namespace's UID. No cluster has it for its id.
	keyPlace = "_namespace"
	// keyClusterset is the key of which clusterset the permissions are of.
	keyClusterset = "_clusterset"
	// permissionMark begins the keys of what members are permitted. The rest is the key on the broker.
	permissionMark = "_"
	// keyFormer is the key of the UIDs of those that there were before.
	keyFormer = "_former"
	// awaited follows the time of a member's last statement where a later one is awaited, anew that where it may have
	// any time, and after a time that it has to be later than.
	awaited = " awaited"
	anew    = " anew"
	after   = " after "
	// outdated follows where, moreover, what there is of the member may be an earlier state.
	outdated = " since a restore"
	// silent stands for the time where the member makes no statements.
	silent = "none"
)

// Memory is what outlasts a process.
type Memory struct {
	Epoch epoch.Memory
	// Clusterset is which one Permissions is of, in any words that tell it from others.
	Clusterset  string
	Permissions permissions.Members
}

// Of is what is remembered of a clusterset: the permissions in another one are about other members,
// which may have the same ids. (Which namespace is a former one's, the epoch knows by itself.)
func (m Memory) Of(clusterset string) Memory {
	if m.Clusterset != clusterset {
		m.Permissions = nil
	}
	return m
}

// encode writes for each member when it has last said that all is published, and what it is permitted, for
// people to read.
func encode(m Memory) map[string]string {
	data := map[string]string{keyPlace: m.Epoch.Place}
	if m.Clusterset != "" {
		data[keyClusterset] = m.Clusterset
	}
	for key, value := range m.Permissions.Data() {
		data[permissionMark+key] = value
	}
	if len(m.Epoch.Former) > 0 {
		data[keyFormer] = strings.Join(m.Epoch.Former, " ")
	}
	for id, known := range m.Epoch.Members {
		value := written(known.At)
		if known.Awaited {
			value += awaited
		}
		switch {
		case !known.Awaited || known.After == known.At:
		case known.After == 0:
			value += anew
		default:
			value += after + written(known.After)
		}
		if known.Outdated {
			value += outdated
		}
		data[id] = value
	}
	return data
}

func written(at int64) string {
	if at == 0 {
		return silent
	}
	return time.UnixMicro(at).UTC().Format(time.RFC3339Nano)
}

// decode reads what encode wrote. What somebody else has written is not remembered.
func decode(data map[string]string) Memory {
	m := Memory{
		Epoch:      epoch.Memory{Place: data[keyPlace], Former: strings.Fields(data[keyFormer]), Members: map[string]epoch.Known{}},
		Clusterset: data[keyClusterset],
	}
	permitted := map[string]string{}
	for id, value := range data {
		if key, found := strings.CutPrefix(id, permissionMark); found {
			permitted[key] = value
			continue
		}
		if _, err := names.ParseClusterID(id); err != nil {
			continue
		}
		if known, ok := read(value); ok {
			m.Epoch.Members[id] = known
		}
	}
	m.Permissions, _ = permissions.Read(&corev1.ConfigMap{Data: permitted}) // other keys are about no member
	return m
}

func read(value string) (known epoch.Known, ok bool) {
	value, known.Outdated = strings.CutSuffix(value, outdated)
	at, than, found := strings.Cut(value, awaited)
	known.Awaited = found
	known.At, ok = parsed(at)
	switch later, given := strings.CutPrefix(than, after); {
	case !ok || !found:
	case given:
		known.After, ok = parsed(later)
	case than == "":
		known.After = known.At
	default:
		ok = than == anew
	}
	return known, ok
}

func parsed(text string) (at int64, ok bool) {
	if text == silent {
		return 0, true
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UnixMicro(), err == nil
}
