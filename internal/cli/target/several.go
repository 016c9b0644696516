package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
)

// AddImageFlag adds the flag for the image of the command's pods.
func AddImageFlag(flags *pflag.FlagSet, image *string) {
	flags.StringVar(image, "probe-image", "", "image of the test pods; default is the image of the cluster's agents, or the released image of atoll-agent")
}

// AddContextsFlags adds the flags of AddFlags, but with a --context that can be repeated.
func (s *Scoped) AddContextsFlags(flags *pflag.FlagSet, contexts *[]string) {
	s.addKubeconfigFlag(flags)
	flags.StringArrayVar(contexts, "context", nil, "context of the kubeconfig; repeat the flag for several clusters; default is the current context")
	s.addBrokerFlag(flags)
}

// In returns the flags for another context.
func (s *Scoped) In(context string) *Scoped {
	other := *s
	other.Context = context
	return &other
}

// ExitFailed is the exit status if a check fails or a service does not work.
const ExitFailed = 79

// Exit ends the program with a status. The output already says why.
type Exit int

// Error names the status.
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ExitStatus returns the program's exit status.
func (e Exit) ExitStatus() int { return int(e) }

// AddAllFlag adds a flag for all contexts of the kubeconfig.
func (s *Scoped) AddAllFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&s.everywhere, "all", false, "all contexts of the kubeconfig")
}

// All reports whether the user asked for all contexts.
func (s *Scoped) All() bool { return s.everywhere }

// Configs returns the clusters of contexts, and of --context if it is set or contexts is empty.
func (s *Scoped) Configs(contexts []string) ([]checkup.Target, error) {
	if s.everywhere {
		if s.Context != "" || len(contexts) > 0 {
			return nil, fmt.Errorf("%w: --all and contexts are mutually exclusive", ErrUsage)
		}
		raw, err := s.Loader().RawConfig()
		if err != nil {
			return nil, s.explain(err)
		}
		if contexts = slices.Sorted(maps.Keys(raw.Contexts)); len(contexts) == 0 {
			return nil, s.explain(errors.New("the kubeconfig has no contexts"))
		}
	}
	if s.Context != "" || len(contexts) == 0 {
		contexts = append([]string{s.Context}, contexts...)
	}
	var all []checkup.Target
	for _, context := range contexts {
		if slices.ContainsFunc(all, func(t checkup.Target) bool { return t.Context == context }) {
			continue
		}
		one := Cluster{Kubeconfig: s.Kubeconfig, Context: context}
		config, err := one.Config()
		switch {
		case err == nil:
		case s.everywhere: // the others are usable
			config = failing(err)
		default:
			return nil, err
		}
		all = append(all, checkup.Target{Context: context, On: one.Command(), Config: config})
	}
	return all, nil
}

// failing is a configuration whose requests fail with an error.
func failing(err error) *rest.Config {
	return &rest.Config{Host: "https://unusable.invalid", Transport: failure{err}}
}

type failure struct{ error }

// RoundTrip implements http.RoundTripper.
func (f failure) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.error }

// Members returns these clusters as members, whose pods run image; "" means the agents' image.
func (s *Scoped) Members(ctx context.Context, contexts []string, image string) ([]trial.Member, error) {
	clusters, err := s.Configs(contexts)
	if err != nil {
		return nil, err
	}
	var all []trial.Member
	for _, c := range clusters {
		m, err := trial.Read(ctx, c.Context, c.On, c.Config, s.Broker())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		m.Image = checkup.Image(m.Survey, image)
		all = append(all, m)
	}
	return all, nil
}
