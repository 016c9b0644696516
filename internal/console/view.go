package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/live"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Overview is what pages show beside the services.
type Overview struct {
	// At is the time of this machine, in milliseconds since 1970, as all times here.
	At         int64     `json:"at"`
	Clusterset string    `json:"clusterset"`
	Broker     Broker    `json:"broker"`
	Clusters   []Cluster `json:"clusters"`
	// Checks are the results of the last run.
	Checks Checks `json:"checks"`
}

// Broker is the state of the broker for this program.
type Broker struct {
	Server   string `json:"server,omitempty"`
	Answered int64  `json:"answered,omitempty"`
	// Error is why it cannot be reached, or does not answer now, and Unread why kinds could not be read.
	Error  string   `json:"error,omitempty"`
	Unread []string `json:"unread,omitempty"`
	// Read means that its records are shown, and Members that the states of the clusters are.
	Read    bool `json:"read"`
	Members bool `json:"members"`
}

// Cluster is a cluster of the clusterset, or of the command line.
type Cluster struct {
	// ID is the cluster's id; its context while the id is unknown.
	ID string `json:"id"`
	// Named means that the command line has a context of it. Context is its name, "" for the current one, and On its flags for commands.
	Named   bool   `json:"named,omitempty"`
	Context string `json:"context,omitempty"`
	On      string `json:"on,omitempty"`
	// State is read, reading or unread. Outside is why its services are not shown: it is not a member, or the same cluster as another.
	State    string `json:"state"`
	Outside  string `json:"outside,omitempty"`
	Answered int64  `json:"answered,omitempty"`
	// Error is why it does not answer now, and Unread why kinds could not be read.
	Error  string   `json:"error,omitempty"`
	Unread []string `json:"unread,omitempty"`
	// Member is what the broker has of it.
	Member *report.Member `json:"member,omitempty"`
	// Withdrawn, Silent and Unproven are the clusters that this one does not reach, with the time, if KnowsLost is set.
	KnowsLost bool              `json:"knowsLost,omitempty"`
	Withdrawn map[string]string `json:"withdrawn,omitempty"`
	Silent    map[string]string `json:"silent,omitempty"`
	Unproven  map[string]string `json:"unproven,omitempty"`
}

// Row is a service in all clusters.
type Row struct {
	// ID is namespace and name.
	ID        string            `json:"id"`
	Type      string            `json:"type,omitempty"`
	Exports   map[string]Cell   `json:"exports,omitempty"`
	Imports   map[string]Cell   `json:"imports,omitempty"`
	Conflicts []report.Conflict `json:"conflicts,omitempty"`
}

// Cell is an export or an import of a service in one cluster. The names are short because there are many.
type Cell struct {
	Status string `json:"s"`
	// Problem is how bad the status is, and Message describes it.
	Problem report.Severity `json:"p,omitempty"`
	Message string          `json:"m,omitempty"`
	// Ready, Standby and All count the endpoints of an import, by source cluster in From.
	Ready   int               `json:"r,omitempty"`
	Standby int               `json:"b,omitempty"`
	All     int               `json:"n,omitempty"`
	From    map[string][2]int `json:"f,omitempty"`
	// Unknown means that the cluster's EndpointSlices have not been read.
	Unknown bool `json:"u,omitempty"`
}

// The states of a cluster.
const (
	stateRead, stateReading, stateUnread = "read", "reading", "unread"
)

// identity is what a member is called, and why its services are not shown; "" if they are.
type identity struct{ id, outside string }

// identify names the members: by their ids, or by their contexts while these are unknown or those of another clusterset.
func identify(set *live.Clusterset) []identity {
	all := make([]identity, len(set.Members))
	first := map[names.ClusterID]*live.Member{}
	shown := set.Name()
	for i, m := range set.Members {
		s := m.Overview()
		same := first[s.ClusterID]
		switch {
		case s.ClusterID == "" && m.KnowsProperties():
			all[i].outside = "not a member of a clusterset (a broker need not be one)"
		case s.ClusterID == "":
		case s.Clusterset != "" && s.Clusterset != shown:
			all[i].outside = fmt.Sprintf("cluster %s of clusterset %s: these pages show clusterset %s", s.ClusterID, s.Clusterset, shown)
		case same != nil:
			all[i].outside = fmt.Sprintf("has the id %s, as %s has, which is shown", s.ClusterID, same)
		default:
			first[s.ClusterID] = m
			all[i].id = s.ClusterID.String()
			continue
		}
		all[i].id = m.String()
	}
	return all
}

// overview describes the clusters and the broker.
func overview(set *live.Clusterset, members []identity, now time.Time) Overview {
	broker, server, contact := set.Broker()
	o := Overview{At: now.UnixMilli(), Clusterset: set.Name(), Broker: Broker{
		Server: server, Answered: millis(contact.Answered), Error: errorText(contact.Err), Unread: errorTexts(contact.Unread),
		Read: broker != nil, Members: broker != nil && broker.Members != nil,
	}}
	known := map[string]*report.Member{}
	if o.Broker.Members {
		for _, m := range report.Members(&survey.Survey{Broker: broker}) {
			known[m.Cluster] = &m
		}
	}
	for i, m := range set.Members {
		s, contact := m.Overview(), m.Contact()
		c := Cluster{
			ID: members[i].id, Outside: members[i].outside, Named: true, Context: m.Context, On: string(m.On), State: stateRead, Answered: millis(contact.Answered), Error: errorText(contact.Err), Unread: errorTexts(contact.Unread),
			Withdrawn: s.Cluster.Withdrawn, Silent: s.Cluster.Silent, Unproven: s.Cluster.Unproven,
		}
		if c.Outside != "" {
			c.Unread = nil // its objects are not shown
		}
		switch {
		case contact.Answered.IsZero() && contact.Err != nil:
			c.State = stateUnread
		case !contact.Complete:
			c.State = stateReading
		}
		c.KnowsLost = m.KnowsLost()
		c.Member = known[c.ID]
		delete(known, c.ID)
		o.Clusters = append(o.Clusters, c)
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		o.Clusters = append(o.Clusters, Cluster{ID: id, State: stateUnread, Member: known[id]})
	}
	slices.SortStableFunc(o.Clusters, func(a, b Cluster) int { return strings.Compare(a.ID, b.ID) })
	return o
}

// entry is what is known of a service, by where it was found.
type entry struct {
	kind      string
	published map[string]Cell // by cluster id, as on the broker
	conflicts []report.Conflict
	members   map[int]memberEntry // by index in the clusterset
}

type memberEntry struct {
	kind          string
	imported, own *Cell // its import, and its own export
}

// readBroker reads what the broker has of a service.
func (e *entry) readBroker(broker *survey.Broker) {
	e.kind, e.published, e.conflicts = "", nil, nil
	if broker == nil {
		return
	}
	published := &survey.Survey{Broker: broker}
	for _, export := range report.Exports(published) {
		if e.published == nil {
			e.published = map[string]Cell{}
		}
		e.published[export.Cluster], e.kind = exportCell(export), export.Type
	}
	e.conflicts = report.Conflicts(published)
}

// readMember reads what a member has of a service.
func (e *entry) readMember(at int, s *survey.Survey, hasEndpoints bool) {
	var m memberEntry
	if len(s.Cluster.Exports) > 0 {
		for _, export := range report.Exports(s) {
			if export.Cluster == s.ClusterID.String() {
				cell := exportCell(export)
				m.own = &cell
			}
		}
	}
	for _, i := range report.Imports(s) {
		cell := importCell(i, report.Endpoints(s))
		cell.Unknown = !hasEndpoints
		m.imported, m.kind = &cell, i.Type
	}
	if m == (memberEntry{}) {
		delete(e.members, at)
	} else {
		e.members[at] = m
	}
}

// row returns a service as pages show it; nil if no cluster has it.
func (e *entry) row(id string, members []identity) *Row {
	r := &Row{ID: id, Type: e.kind, Exports: map[string]Cell{}, Imports: map[string]Cell{}, Conflicts: e.conflicts}
	maps.Copy(r.Exports, e.published)
	for at, m := range e.members {
		if members[at].outside != "" {
			continue
		}
		if m.own != nil {
			r.Exports[members[at].id] = *m.own
		}
		if m.imported != nil {
			r.Imports[members[at].id], r.Type = *m.imported, cmp.Or(r.Type, m.kind)
		}
	}
	if len(r.Exports)+len(r.Imports) == 0 {
		return nil
	}
	return r
}

// pendingAt returns the members with pending work on a service.
func (e *entry) pendingAt() (all []int) {
	isPending := func(c *Cell) bool { return c != nil && c.Problem == report.Pending }
	for at, m := range e.members {
		if isPending(m.imported) || isPending(m.own) {
			all = append(all, at)
		}
	}
	return all
}

func exportCell(e report.Export) Cell {
	return problem(Cell{Status: e.Status}, e.Problem(), e.Message)
}

func importCell(i report.Import, all []report.Endpoint) Cell {
	c := problem(Cell{Status: i.Status, Ready: i.ReadyEndpoints, All: i.Endpoints}, i.Problem(), i.Message)
	for _, e := range all {
		if c.From == nil {
			c.From = map[string][2]int{}
		}
		from := c.From[e.Cluster]
		switch {
		case i.IsServedBy(e):
			from[0]++
		case e.State == report.EndpointStandby:
			c.Standby++
			from[1]++
		}
		c.From[e.Cluster] = from
	}
	return c
}

// problem adds how bad a cell's status is, and its message.
func problem(c Cell, severity report.Severity, message string) Cell {
	if severity != "" {
		c.Problem, c.Message = severity, message
	}
	return c
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func errorTexts(all []error) (texts []string) {
	for _, err := range all {
		texts = append(texts, err.Error())
	}
	return texts
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// encode returns a value as JSON. The types here always can be.
func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
