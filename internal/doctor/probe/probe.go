// Package probe is the program in the test pods of `atoll check` and `atoll verify`. It listens, or runs a plan of
// queries and connections and prints the results. It is part of atoll-agent, whose image every cluster with Atoll has.
package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Port is the TCP and UDP port of probes.
const Port = 9376

// Plan is the work of a probe. All parts run at the same time.
type Plan struct {
	Questions   []Question   `json:"questions,omitempty"`
	Connections []Connection `json:"connections,omitempty"`
	Servers     []Server     `json:"servers,omitempty"`
	// Timeout is the time limit of each part.
	Timeout metav1.Duration `json:"timeout"`
}

// Question is a query to a DNS server.
type Question struct {
	// Server is an address. Empty means the pod's own servers in order, as programs use them; EachServer means each of
	// them separately.
	Server string `json:"server,omitempty"`
	// Name is expanded with the pod's search domains unless it ends with a dot.
	Name string `json:"name"`
	// Type is A, AAAA, TXT or SOA. With SOA, which needs a Server, the values are the zones that have or lack the name; no value
	// means that the server does not say.
	Type string `json:"type"`
	// Await repeats the query until there is an answer or Timeout ends.
	Await bool `json:"await,omitempty"`
}

// EachServer means a separate query to each of the pod's DNS servers, with one answer each.
const EachServer = "each"

// Connection is a connection to a listening probe.
type Connection struct {
	// Network is tcp or udp, Address a HOST:PORT.
	Network string `json:"network"`
	Address string `json:"address"`
	// Times is the number of connections; 0 means one.
	Times int `json:"times,omitempty"`
	// Bytes is how many bytes to send over TCP and expect back.
	Bytes int `json:"bytes,omitempty"`
	// Await repeats the first connection until it succeeds or Timeout ends.
	Await bool `json:"await,omitempty"`
}

// Server is an HTTPS server, for example an API server.
type Server struct {
	URL string `json:"url"`
	// CA has the PEM certificates of the server's certificate authorities; empty means the system's.
	CA string `json:"ca,omitempty"`
}

// Report is the result of a plan, in the plan's order. Answers of EachServer queries come last.
type Report struct {
	// Resolvers are the pod's DNS servers.
	Resolvers   []string  `json:"resolvers,omitempty"`
	Answers     []Answer  `json:"answers,omitempty"`
	Connections []Reached `json:"connections,omitempty"`
	Servers     []Replied `json:"servers,omitempty"`
}

// Answer is the result of a question.
type Answer struct {
	Question
	// Values are the records' data.
	Values []string `json:"values,omitempty"`
	// Absent means that the server answered that the name or type does not exist.
	Absent bool `json:"absent,omitempty"`
	// Error says why Values is empty.
	Error        string  `json:"error,omitempty"`
	Milliseconds float64 `json:"milliseconds"`
}

// Reached is the result of connections.
type Reached struct {
	Connection
	// By counts the answers by the server's identity.
	By map[string]int `json:"by,omitempty"`
	// Failed counts attempts without an answer. With Await, it starts after the first success.
	Failed int `json:"failed,omitempty"`
	// Error is the reason of the last failure.
	Error string `json:"error,omitempty"`
	// Milliseconds is the time of the fastest connection.
	Milliseconds float64 `json:"milliseconds,omitempty"`
}

// Replied is the result of requests to a server.
type Replied struct {
	Server
	// Status is the HTTP status, or 0 without an answer.
	Status int `json:"status,omitempty"`
	// Milliseconds is the time of the fastest request on an existing connection.
	Milliseconds float64 `json:"milliseconds,omitempty"`
	// Ahead is how many seconds the server's clock is ahead of the node's, to a second.
	Ahead float64 `json:"ahead,omitempty"`
	Error string  `json:"error,omitempty"`
}

const resolvConf = "/etc/resolv.conf"

// resolvers returns the name servers of a resolv.conf (resolv.conf(5)).
func resolvers(text string) (servers []string) {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "nameserver" {
			servers = append(servers, words[1])
		}
	}
	return servers
}

// Do runs a plan.
func Do(ctx context.Context, p Plan) Report {
	var r Report
	if text, err := os.ReadFile(resolvConf); err == nil {
		r.Resolvers = resolvers(string(text))
	}
	p.Questions = expand(p.Questions, r.Resolvers)
	r.Answers = make([]Answer, len(p.Questions))
	r.Connections, r.Servers = make([]Reached, len(p.Connections)), make([]Replied, len(p.Servers))
	ctx, cancel := context.WithTimeout(ctx, p.Timeout.Duration)
	defer cancel()
	var all sync.WaitGroup
	for i, q := range p.Questions {
		all.Go(func() { r.Answers[i] = ask(ctx, q) })
	}
	for i, c := range p.Connections {
		all.Go(func() { r.Connections[i] = reach(ctx, c) })
	}
	for i, s := range p.Servers {
		all.Go(func() { r.Servers[i] = request(ctx, s) })
	}
	all.Wait()
	return r
}

// expand replaces EachServer by the pod's servers.
func expand(questions []Question, servers []string) []Question {
	var to, apart []Question
	for _, q := range questions {
		if q.Server != EachServer {
			to = append(to, q)
			continue
		}
		for _, q.Server = range servers {
			apart = append(apart, q)
		}
	}
	return append(to, apart...)
}

// marker starts the log line with the report.
const marker = "atoll-probe-report "

// Encode returns the report as a log line.
func (r Report) Encode() string {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // cannot happen: strings and numbers only
	}
	return marker + string(data) + "\n"
}

// Decode returns the report in a pod's log.
func Decode(log string) (Report, error) {
	var r Report
	_, line, found := strings.Cut(log, marker)
	if !found {
		return r, fmt.Errorf("the test pod printed this text instead of a report: %.500q", log)
	}
	if err := json.NewDecoder(strings.NewReader(line)).Decode(&r); err != nil {
		return r, fmt.Errorf("reading the test pod's report: %w", err)
	}
	return r, nil
}
