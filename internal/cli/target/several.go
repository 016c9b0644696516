package target

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

// Several are the clusters of contexts that a person names, beside the one of the flags.
type Several struct {
	Scoped
	flags *pflag.FlagSet
}

// One of several clusters, by its context, which is empty for the current one.
type One struct {
	Context string
	Config  *rest.Config
}

// AddFlags lets a person choose the first cluster, and the way to the broker.
func (s *Several) AddFlags(flags *pflag.FlagSet) {
	s.Scoped.AddFlags(flags)
	s.flags = flags
}

// String is the cluster for people.
func (o One) String() string {
	if o.Context == "" {
		return "the current context"
	}
	return "context " + o.Context
}

// exitFailed is the exit status when what was checked, or tried out, is not as it should be.
const exitFailed = 79

// FailedError says that something is not as it should be, which stands in the output already.
type FailedError struct{ Failed int }

// Error says how much.
func (e *FailedError) Error() string { return fmt.Sprintf("%d have failed", e.Failed) }

// ExitStatus is what the program ends with.
func (*FailedError) ExitStatus() int { return exitFailed }

// Configs returns the clusters of contexts, and of --context where that was given or nothing else was.
func (s *Several) Configs(contexts []string) ([]One, error) {
	if s.flags.Changed("context") || len(contexts) == 0 {
		contexts = append([]string{s.Context}, contexts...)
	}
	var all []One
	for _, context := range contexts {
		if slices.ContainsFunc(all, func(o One) bool { return o.Context == context }) {
			continue
		}
		one := Cluster{Kubeconfig: s.Kubeconfig, Context: context}
		config, err := one.Config()
		if err != nil {
			return nil, err
		}
		all = append(all, One{context, config})
	}
	return all, nil
}
