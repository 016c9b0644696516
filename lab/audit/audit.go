// Package audit reads the audit log of a lab's API servers (lab.Options.Audit).
package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Policy is an audit policy that logs every write once, when it is answered. Of the accounts that a broker has for members
// and for the hub, it logs reads too, and a watch also when it begins.
const Policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
  omitStages: [ResponseStarted]
- level: Metadata
  userGroups: [system:serviceaccounts:atoll-clusterset, system:serviceaccounts:atoll-hub]
  verbs: [get, list, watch]
- level: None
`

// Write is a write request, or a read that Policy logs.
type Write struct {
	// User is the requesting user, such as system:serviceaccount:atoll-system:atoll-agent.
	User string
	// Verb is create, update, patch, delete or deletecollection; for a read get, list or watch.
	Verb string
	// Group is the kind's API group. Resource is the kind, such as endpointslices; Subresource such as status.
	Group, Resource, Subresource string
	// Namespace and Name are the object's. Name is empty for a deletecollection.
	Namespace, Name string
	// Code is the HTTP status of the response.
	Code int
	// At is the time of the response, by the API server's clock.
	At time.Time
}

// Succeeded reports whether the request succeeded. That includes updates without a change, which look the same.
func (w Write) Succeeded() bool { return w.Code >= 200 && w.Code < 300 }

// String formats the write, such as "update endpointslices/web-1: 200".
func (w Write) String() string {
	resource := w.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	return fmt.Sprintf("%s %s %s: %d", w.Verb, resource, w.Name, w.Code)
}

// event has the used fields of a log line (audit.k8s.io/v1, Event).
type event struct {
	Verb           string                    `json:"verb"`
	User           struct{ Username string } `json:"user"`
	ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
	StageTimestamp time.Time `json:"stageTimestamp"`
}

// Log is an API server's log from some position.
type Log struct {
	path   string
	offset int64
}

// Open opens a log file at its current end.
func Open(path string) (*Log, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	return &Log{path: path, offset: info.Size()}, nil
}

// Read returns the writes since the last Read, in order.
func (l *Log) Read() ([]Write, error) {
	all, err := l.Requests()
	return slices.DeleteFunc(all, func(w Write) bool { return w.Verb == "get" || w.Verb == "list" || w.Verb == "watch" }), err
}

// Requests returns the writes since the last Read, and the reads that Policy logs, in order.
func (l *Log) Requests() ([]Write, error) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, l.offset, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	end := bytes.LastIndexByte(data, '\n') + 1 // the last line may be incomplete
	writes, err := parse(data[:end])
	if err != nil {
		return nil, fmt.Errorf("reading the audit log %s: %w", l.path, err)
	}
	l.offset += int64(end)
	return writes, nil
}

func parse(data []byte) ([]Write, error) {
	var writes []Write
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var e event
		switch err := decoder.Decode(&e); {
		case err == io.EOF:
			return writes, nil
		case err != nil:
			return nil, err
		}
		writes = append(writes, Write{
			User: e.User.Username, Verb: e.Verb,
			Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
			Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
			Code: e.ResponseStatus.Code, At: e.StageTimestamp,
		})
	}
}

// Quiet reads until no write that counts is logged for the time calm, and returns all that count. Heartbeats, for
// example, should not count.
func (l *Log) Quiet(ctx context.Context, calm time.Duration, counts func(Write) bool) ([]Write, error) {
	const interval = 20 * time.Millisecond
	again := time.NewTicker(interval)
	defer again.Stop()
	var all []Write
	last := time.Now()
	for {
		now := time.Now()
		writes, err := l.Read()
		if err != nil {
			return all, err
		}
		for _, w := range writes {
			if counts(w) {
				all, last = append(all, w), now
			}
		}
		if now.Sub(last) >= calm {
			return all, nil
		}
		select {
		case <-ctx.Done():
			return all, fmt.Errorf("waiting for the last write in the audit log: %w", ctx.Err())
		case <-again.C:
		}
	}
}
