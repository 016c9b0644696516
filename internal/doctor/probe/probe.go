// Package probe is the program in the test pods of `atoll check` and `atoll verify`: it listens, or runs a plan
// of queries and connections and prints the results. The program is atoll-agent, whose image is in every cluster
// with Atoll.
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

// Port is where a probe listens, by TCP and UDP.
const Port = 9376

// Plan is what a probe is to find out. All of it is done at the same time.
type Plan struct {
	Questions   []Question   `json:"questions,omitempty"`
	Connections []Connection `json:"connections,omitempty"`
	Servers     []Server     `json:"servers,omitempty"`
	// Patience is how long each part may take in all.
	Patience metav1.Duration `json:"patience"`
}

// Question is one that a DNS server is asked.
type Question struct {
	// Server is its address; empty means those that the pod itself is configured for, one after the
	// other as programs do, and EachServer each of these apart.
	Server string `json:"server,omitempty"`
	// Name is searched in the pod's search domains unless it ends with a dot.
	Name string `json:"name"`
	// Type is A, AAAA or TXT.
	Type string `json:"type"`
	// Await asks again until there is an answer, as long as there is patience.
	Await bool `json:"await,omitempty"`
}

// EachServer stands for the servers that a pod is configured for: there are as many answers.
const EachServer = "each"

// Connection is one to a probe that listens.
type Connection struct {
	// Network is tcp or udp, Address a HOST:PORT.
	Network string `json:"network"`
	Address string `json:"address"`
	// Times is how often to connect; 0 means once.
	Times int `json:"times,omitempty"`
	// Bytes are sent by TCP and have to come back.
	Bytes int `json:"bytes,omitempty"`
	// Await tries again until the first connection has succeeded, as long as there is patience.
	Await bool `json:"await,omitempty"`
}

// Server is one that answers HTTPS requests, as an API server.
type Server struct {
	URL string `json:"url"`
	// CA has the certificates, in PEM, of which one has signed the server's; empty means the system's.
	CA string `json:"ca,omitempty"`
}

// Report is what came of a plan. Its parts are in the order of the plan's; a question to each
// server comes last.
type Report struct {
	// Resolvers are the DNS servers that the pod is configured for.
	Resolvers   []string  `json:"resolvers,omitempty"`
	Answers     []Answer  `json:"answers,omitempty"`
	Connections []Reached `json:"connections,omitempty"`
	Servers     []Replied `json:"servers,omitempty"`
}

// Answer is what came of a question.
type Answer struct {
	Question
	// Values are the records' data.
	Values []string `json:"values,omitempty"`
	// Absent tells that the server said that there is nothing of that name or type.
	Absent bool `json:"absent,omitempty"`
	// Error says why there are none.
	Error        string  `json:"error,omitempty"`
	Milliseconds float64 `json:"milliseconds"`
}

// Reached is what came of connections.
type Reached struct {
	Connection
	// By counts the answers by who gave them.
	By map[string]int `json:"by,omitempty"`
	// Failed counts the attempts without an answer, after the first one with one where that was awaited.
	Failed int `json:"failed,omitempty"`
	// Error is why the last one of them failed.
	Error string `json:"error,omitempty"`
	// Milliseconds is how long the fastest took.
	Milliseconds float64 `json:"milliseconds,omitempty"`
}

// Replied is what came of requests to a server.
type Replied struct {
	Server
	// Status is the HTTP status of its answer, 0 for none.
	Status int `json:"status,omitempty"`
	// Milliseconds is how long the fastest of some requests took over a connection that was there already.
	Milliseconds float64 `json:"milliseconds,omitempty"`
	// Ahead is by how many seconds the server's clock is ahead of the node's, to a second.
	Ahead float64 `json:"ahead,omitempty"`
	Error string  `json:"error,omitempty"`
}

// resolvConf is where a pod finds its DNS servers.
const resolvConf = "/etc/resolv.conf"

// resolvers reads the servers in a resolv.conf (resolv.conf(5)).
func resolvers(text string) (servers []string) {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "nameserver" {
			servers = append(servers, words[1])
		}
	}
	return servers
}

// Do carries out a plan.
func Do(ctx context.Context, p Plan) Report {
	var r Report
	if text, err := os.ReadFile(resolvConf); err == nil {
		r.Resolvers = resolvers(string(text))
	}
	p.Questions = expand(p.Questions, r.Resolvers)
	r.Answers = make([]Answer, len(p.Questions))
	r.Connections, r.Servers = make([]Reached, len(p.Connections)), make([]Replied, len(p.Servers))
	ctx, cancel := context.WithTimeout(ctx, p.Patience.Duration)
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

// expand puts the servers in the place of EachServer.
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

// marker begins the line of a pod's log that is the report.
const marker = "atoll-probe-report "

// Encode writes a report as a line of a log.
func (r Report) Encode() string {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers
	}
	return marker + string(data) + "\n"
}

// Decode finds the report in a pod's log.
func Decode(log string) (Report, error) {
	var r Report
	line, found := lineWith(log, marker)
	if !found {
		return r, fmt.Errorf("the pod printed this instead of a report: %.500q", log)
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, fmt.Errorf("reading the pod's report: %w", err)
	}
	return r, nil
}

// lineWith returns the rest of the last line that begins with a prefix.
func lineWith(text, prefix string) (rest string, found bool) {
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, prefix); ok {
			rest, found = strings.TrimSuffix(after, "\n"), true
		}
	}
	return rest, found
}
