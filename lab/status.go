package lab

import (
	"github.com/atoll-mcs/atoll/lab/process"
)

// UnitStatus is the status of a unit.
type UnitStatus struct {
	Unit
	Running bool
	PID     int
	// Memory is the unit's share of the machine's memory in bytes, without containers that it started.
	Memory int64
}

// Status returns the status of each unit, by cluster and name.
func (l *Lab) Status() ([]UnitStatus, error) {
	units, err := l.Units()
	if err != nil {
		return nil, err
	}
	var all []UnitStatus
	for _, u := range units {
		s := UnitStatus{Unit: u}
		if r, err := process.Load(l.recordFile(u)); err == nil && r.Alive() {
			s.Running, s.PID = true, r.PID
			s.Memory, _ = r.Memory() // it may have just ended
		}
		all = append(all, s)
	}
	return all, nil
}

// FindLog is the log of the first unit that target (CLUSTER/UNIT) matches.
func (l *Lab) FindLog(target string) (string, error) {
	units, err := l.find(target)
	if err != nil {
		return "", err
	}
	return l.Log(units[0]), nil
}
