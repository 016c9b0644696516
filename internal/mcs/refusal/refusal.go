// Package refusal decides which other clusters' exports a namespace does not import, by its annotation and the
// agent's flag.
package refusal

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

// Clusters are the clusters whose exports are refused. The zero value is none.
type Clusters struct {
	all bool
	ids []names.ClusterID
}

const all = "*"

// Parse reads cluster ids separated by commas, or "*" for all. It ignores invalid entries, and names them in the error.
func Parse(text string) (Clusters, error) {
	var c Clusters
	var mistakes []error
	for word := range strings.SplitSeq(text, ",") {
		switch word = strings.TrimSpace(word); word {
		case all:
			c.all = true
		case "":
			mistakes = append(mistakes, errors.New("an entry is empty"))
		default:
			id, err := names.ParseClusterID(word)
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("%.70q is not a cluster id", word))
				continue
			}
			c.ids = append(c.ids, id)
		}
	}
	return c, errors.Join(mistakes...)
}

// Has reports whether Clusters includes a cluster.
func (c Clusters) Has(id names.ClusterID) bool { return c.all || slices.Contains(c.ids, id) }

// Reason is why a namespace refuses a cluster's exports; "" if it does not.
type Reason string

const (
	// SystemNamespace: the namespace's Services are the cluster's own, see names.Closed.
	SystemNamespace Reason = "SystemNamespace"
	// ByNamespace: the namespace's annotation lists the cluster.
	ByNamespace Reason = "RefusedByNamespace"
	// ByAgent: the agent's flag lists the cluster.
	ByAgent Reason = "RefusedByAgent"
	// TooManyExports: the cluster exports more services than may count, and this one is not among the oldest.
	TooManyExports Reason = "TooManyExports"
)

// Rules apply to one namespace.
type Rules struct {
	// Closed is set if the namespace imports nothing, and its exports cannot conflict with other clusters'.
	Closed bool
	// Malformed names the invalid entries of the namespace's annotation; nil for none.
	Malformed error

	byNamespace, byAgent Clusters
}

// Agent is what an agent refuses by its flags.
type Agent struct {
	// Clusters are refused in all namespaces.
	Clusters Clusters
	// Closed are patterns of namespaces that count as system namespaces, see names.IsSystem.
	Closed []string
}

// ParseClosed checks patterns of closed namespaces.
func ParseClosed(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || strings.Trim(p, "abcdefghijklmnopqrstuvwxyz0123456789-*") != "" || strings.Trim(p, "*") == "" {
			return fmt.Errorf("%.70q is not the name of a namespace with * for any text", p)
		}
	}
	return nil
}

// In returns the rules of a namespace.
func In(namespace string, labels, annotations map[string]string, agent Agent) Rules {
	rules := Rules{Closed: names.Closed(namespace, labels, agent.Closed...), byAgent: agent.Clusters}
	if text, found := annotations[names.AnnotationRefuseImports]; found {
		rules.byNamespace, rules.Malformed = Parse(text)
	}
	return rules
}

// Reason says why a cluster's exports are refused, "" if they are not. The caller excludes its own cluster.
func (r Rules) Reason(id names.ClusterID) Reason {
	switch {
	case r.Closed:
		return SystemNamespace
	case r.byNamespace.Has(id):
		return ByNamespace
	case r.byAgent.Has(id):
		return ByAgent
	}
	return ""
}

// Explain describes a reason in a namespace, and how to remove it.
func (r Reason) Explain(namespace string, on command.Cluster) (why, undo string) {
	switch r {
	case SystemNamespace:
		return fmt.Sprintf("namespace %s contains each cluster's own system Services, so no services are imported into this namespace", namespace),
			on.Kubectl("label namespace %s --overwrite %s=%s", namespace, names.LabelExports, names.ExportsAllowed)
	case ByNamespace:
		return fmt.Sprintf("annotation %s of namespace %s refuses imports from the exporting cluster", names.AnnotationRefuseImports, namespace),
			on.Kubectl("annotate namespace %s %s-", namespace, names.AnnotationRefuseImports)
	case ByAgent:
		return "the flag --" + Flag + " of this cluster's atoll-agent excludes the exporting cluster", "Remove the exporting cluster from the flag --" + Flag + " of atoll-agent."
	case TooManyExports:
		return fmt.Sprintf("the exporting cluster exports more than %d services, and only the oldest %d count", share.Records, share.Records), "Delete ServiceExports in the exporting cluster."
	}
	return "", ""
}

// Flags of the agent: for clusters that are refused in all namespaces, and for more closed namespaces.
const (
	Flag       = "refuse-imports-from"
	ClosedFlag = "closed-namespaces"
)
