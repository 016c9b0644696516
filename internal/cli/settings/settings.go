// Package settings stores the flags of an installation, so that later commands need not repeat these flags.
package settings

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/setup"
)

// Member are the flags of `atoll join` that stay as they are until they are given again, and Hub those of `atoll hub deploy`. The
// environment is not among them, because it may have a proxy's password: the Deployment keeps it.
var (
	Member = []string{"advertise-mode", "agent-arg", "no-workloads", "pod-cidr", "region", "registry", "replicas", "resources", "service-cidr"}
	Hub    = []string{"haproxy-image", "host-network", "hub-arg", "low-ports", "no-workloads", "node-selector", "registry", "replicas"}
)

// Keep gives the flags that are not set their values in the cluster, and returns what to store. found is false if the cluster has
// stored nothing in the namespace.
func Keep(ctx context.Context, flags *pflag.FlagSet, keep []string, on *install.Target, namespace string) (store setup.Settings, found bool, err error) {
	stored, err := setup.ReadSettings(ctx, on, namespace)
	if err != nil {
		return nil, false, err
	}
	if err := restore(flags, keep, stored); err != nil {
		return nil, false, err
	}
	return of(flags, keep, stored), stored != nil, nil
}

// of returns the values of flags that are given, were stored, or differ from the defaults.
func of(flags *pflag.FlagSet, keep []string, stored setup.Settings) setup.Settings {
	all := setup.Settings{}
	for _, name := range keep {
		f := flags.Lookup(name)
		if f == nil || !f.Changed && stored[name] == "" && f.Value.String() == f.DefValue {
			continue
		}
		if text := strings.Join(values(f), "\n"); text != "" {
			all[name] = text
		}
	}
	return all
}

// values returns a flag's values.
func values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	if f.Value.Type() == "stringToString" { // in brackets
		return strings.Split(strings.Trim(f.Value.String(), "[]"), ",")
	}
	return []string{f.Value.String()}
}

// restore sets the flags that are not given.
func restore(flags *pflag.FlagSet, keep []string, stored setup.Settings) error {
	for _, name := range keep {
		f, text := flags.Lookup(name), stored[name]
		if f == nil || f.Changed || text == "" {
			continue
		}
		if err := set(f, strings.Split(text, "\n")); err != nil {
			return fmt.Errorf("the stored value of --%s, %q: %w. Give the flag again", name, text, err)
		}
	}
	return nil
}

// set sets a flag whose value was not given.
func set(f *pflag.Flag, texts []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.Replace(texts)
	}
	return f.Value.Set(strings.Join(texts, ","))
}
