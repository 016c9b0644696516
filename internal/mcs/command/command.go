// Package command formats the commands that messages tell people to run. Each names the cluster that it is for,
// so that a pasted command never acts on another one: where the context is not known, a placeholder stands in
// its place, with which the command fails.
package command

import (
	"fmt"
	"strings"
)

// Cluster is the cluster that a command is for, as flags that atoll and kubectl both have.
type Cluster string

const (
	// Broker is the clusterset's broker, where the name of its context is not known.
	Broker Cluster = " --context CONTEXT_OF_BROKER"
	// Here is the cluster that a message comes from, where the name of its context is not known.
	Here Cluster = " --context CONTEXT_OF_THIS_CLUSTER"
)

// Of is the cluster with an id, where the name of its context is not known.
func Of(id string) Cluster { return Cluster(" --context CONTEXT_OF_" + id) }

// At is the cluster that a kubeconfig file, "" for the usual one, has a context for.
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

// Atoll is a command of the program atoll.
func (c Cluster) Atoll(format string, args ...any) string {
	return "atoll " + fmt.Sprintf(format, args...) + string(c)
}

// Kubectl is a command of kubectl.
func (c Cluster) Kubectl(format string, args ...any) string {
	return "kubectl " + fmt.Sprintf(format, args...) + string(c)
}

// Quoted is a word as shells read it.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
