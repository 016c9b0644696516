// Package command formats the commands that messages tell people to run. Each command names its cluster, so that it
// cannot act on another one. An unknown context becomes a placeholder, with which the command fails.
package command

import (
	"fmt"
	"strings"
)

// Cluster is a command's cluster, as flags that both atoll and kubectl accept.
type Cluster string

const (
	// Broker is the clusterset's broker, if its context's name is unknown.
	Broker Cluster = " --context CONTEXT_OF_BROKER"
	// Here is the cluster that a message comes from, if its context's name is unknown.
	Here Cluster = " --context CONTEXT_OF_THIS_CLUSTER"
)

// Of returns the cluster with an id, if its context's name is unknown.
func Of(id string) Cluster { return Cluster(" --context CONTEXT_OF_" + id) }

// At returns the cluster of a context in a kubeconfig file; "" means the default file.
func At(kubeconfig, context string) Cluster {
	var c Cluster
	if kubeconfig != "" {
		c += Cluster(" --kubeconfig " + Quoted(kubeconfig))
	}
	if context != "" {
		c += Cluster(" --context " + Quoted(context))
	}
	return c
}

// Atoll returns an atoll command.
func (c Cluster) Atoll(format string, args ...any) string {
	return "atoll " + fmt.Sprintf(format, args...) + string(c)
}

// Kubectl returns a kubectl command.
func (c Cluster) Kubectl(format string, args ...any) string {
	return "kubectl " + fmt.Sprintf(format, args...) + string(c)
}

// ToJoin says how a cluster that is not a member joins.
func (c Cluster) ToJoin() string {
	return "Get a join file from the broker's administrator, then join: " + c.Atoll("join FILE")
}

// Quoted quotes a word for the shell.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
