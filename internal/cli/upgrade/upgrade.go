// Package upgrade is the command `atoll upgrade`.
package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/cli/hub"
	"github.com/atoll-mcs/atoll/internal/cli/join"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

type options struct {
	target.Scoped
	registry, tag string
	wait          time.Duration
	dryRun        bool
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "upgrade [CONTEXT...]",
		Short: "Upgrade brokers, hubs and members to the version of this program",
		Long: `Upgrades the parts of Atoll that the clusters have, one after the other: first clustersets on
brokers, then hubs, then members. Settings stay as they are: "atoll get config" shows them. Services keep
working during the upgrade.

Before the upgrade begins, the command checks all clusters. It changes nothing if a cluster does not answer, if you
lack permissions, or if new CustomResourceDefinitions lack versions or fields that the present programs use.

After each part, the command waits until the new pods run, and until "atoll status" shows no new error. If this
takes longer than --wait, the command restores the earlier workloads and permissions of this part, and stops.
New CustomResourceDefinitions stay. To downgrade, run "atoll upgrade" of the older version.`,
		Example: `  atoll upgrade broker c1 c2 --dry-run     # show what would be upgraded
  atoll upgrade broker c1 c2
  atoll upgrade --all --registry registry.example/atoll`,
		RunE: func(cmd *cobra.Command, contexts []string) error { return o.run(cmd, contexts) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	o.AddAllFlag(flags)
	flags.StringVar(&o.registry, "registry", "", "registry of the images; default is the present registry")
	flags.StringVar(&o.tag, "tag", "", "tag of the images; default is the version of this program")
	flags.DurationVar(&o.wait, "wait", 3*time.Minute, "maximum time to wait for each part before it is rolled back")
	flags.BoolVar(&o.dryRun, "dry-run", false, "check all clusters, show what would be upgraded, and change nothing")
	return command
}

// cluster is a cluster with what it has of Atoll.
type cluster struct {
	checkup.Target
	on   *install.Target
	have setup.Installed
}

// part is a part of a cluster to upgrade.
type part struct {
	cluster *cluster
	*setup.Upgrade
	member bool
}

func (p part) String() string { return p.cluster.Target.String() + ": " + p.What() }

func (o *options) run(cmd *cobra.Command, contexts []string) error {
	clusters, err := o.read(cmd, contexts)
	if err != nil {
		return err
	}
	parts, err := o.prepare(cmd, clusters)
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if o.dryRun {
		return preview(cmd.OutOrStdout(), parts)
	}
	for i, p := range parts {
		if err := o.upgrade(cmd, p); err != nil {
			var rest []string
			for _, later := range parts[i+1:] {
				rest = append(rest, later.String())
			}
			if len(rest) > 0 {
				err = fmt.Errorf("%w\nnot upgraded: %s", err, strings.Join(rest, ", "))
			}
			return err
		}
	}
	return nil
}

// preview prints the parts with each new image, and the image that runs now.
func preview(w io.Writer, parts []part) error {
	table, same := output.NewTable(w, "CONTEXT", "PART", "IMAGE", "NEW IMAGE"), true
	for _, p := range parts {
		images, err := p.Images()
		if err != nil {
			return err
		}
		if len(images) == 0 {
			images = []string{""}
		}
		for _, image := range images {
			present := ""
			if i := slices.IndexFunc(p.cluster.have.Images, func(i string) bool { return nameOf(i) == nameOf(image) }); i >= 0 {
				present = p.cluster.have.Images[i]
			}
			same = same && present == image
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", p.cluster.Target, p.What(), output.Text(present), output.Text(image))
		}
	}
	if err := table.Flush(); err != nil || !same {
		return err
	}
	_, err := fmt.Fprintln(w, "All images are the present ones. The upgrade would apply all objects again.")
	return err
}

// read reads what the clusters have of Atoll.
func (o *options) read(cmd *cobra.Command, contexts []string) (all []*cluster, err error) {
	targets, err := o.Configs(contexts)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, t := range targets {
		c := &cluster{Target: t}
		if c.on, err = install.NewTarget(t.Config, steps.Report(cmd, false)); err == nil {
			c.on.On = t.On
			c.have, err = setup.ReadInstalled(cmd.Context(), c.on)
		}
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", t, err))
		case c.empty() && o.All():
			steps.Say(cmd)("%s: Atoll is not installed in this cluster, so the command skips the cluster", t)
		case c.empty():
			failed = append(failed, fmt.Errorf("%s: Atoll is not installed in this cluster", t))
		case slices.ContainsFunc(all, func(other *cluster) bool { return other.have.UID == c.have.UID }):
			steps.Say(cmd)("%s: is the same cluster as another context", t)
		default:
			all = append(all, c)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	return all, nil
}

func (c *cluster) empty() bool {
	return len(c.have.Clustersets) == 0 && c.have.Hub == "" && c.have.Member == nil
}

// prepare checks all parts, in the order to upgrade them: what members and hubs need on the broker comes first.
func (o *options) prepare(cmd *cobra.Command, clusters []*cluster) ([]part, error) {
	var brokers, hubs, members []part
	var failed []error
	for _, c := range clusters {
		add := func(to *[]part, u *setup.Upgrade, err error, member bool) {
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", c.Target, err))
				return
			}
			*to = append(*to, part{c, u, member})
		}
		for _, clusterset := range c.have.Clustersets {
			u, err := setup.UpgradeBroker(cmd.Context(), c.on, clusterset, steps.Say(cmd))
			add(&brokers, u, err, false)
		}
		if c.have.Hub != "" {
			u, err := o.hub(cmd.Context(), c)
			add(&hubs, u, err, false)
		}
		if c.have.Member != nil {
			u, err := o.member(cmd, c)
			add(&members, u, err, true)
		}
	}
	return slices.Concat(brokers, hubs, members), errors.Join(failed...)
}

func (o *options) hub(ctx context.Context, c *cluster) (*setup.Upgrade, error) {
	h := render.Hub{Clusterset: c.have.Hub}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	hub.AddFlags(flags, &h)
	if err := o.set(flags); err != nil {
		return nil, err
	}
	store, found, err := hub.Restore(ctx, flags, c.on, registryOf(c.have.Images, render.HubName), &h)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, unknown("the hub", c.on.On.Atoll("hub deploy"))
	}
	return setup.UpgradeHub(ctx, c.on, h, store)
}

func (o *options) member(cmd *cobra.Command, c *cluster) (*setup.Upgrade, error) {
	r := setup.JoinRequest{File: *c.have.Member, Broker: o.Broker()}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	var m join.MemberFlags
	m.AddFlags(flags)
	if err := o.set(flags); err != nil {
		return nil, err
	}
	found, err := m.Restore(cmd.Context(), flags, c.on, registryOf(c.have.Images, render.AgentName), &r)
	switch id := r.File.ClusterID; {
	case err != nil:
		return nil, err
	case !found:
		return nil, unknown("the member", fmt.Sprintf("%s | %s", command.Broker.Atoll("broker token create %s --replace", id), c.on.On.Atoll("join -")))
	}
	return setup.UpgradeMember(cmd.Context(), c.on, r, steps.Say(cmd))
}

func unknown(what, again string) error {
	return &setup.Hint{Err: fmt.Errorf("an older version installed %s, and stored no settings", what), Next: "Install it once more, with the same flags as before: " + again}
}

// set sets the flags that the command has, too.
func (o *options) set(flags *pflag.FlagSet) error {
	for name, value := range map[string]string{"registry": o.registry, "tag": o.tag} {
		if value != "" {
			if err := flags.Set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// registryOf returns the registry of the image with a name, or "".
func registryOf(images []string, name string) string {
	for _, image := range images {
		if repository := repositoryOf(image); path.Base(repository) == name {
			return path.Dir(repository)
		}
	}
	return ""
}

// repositoryOf returns an image's name with its registry, without tag and digest, and nameOf the last part of that.
func repositoryOf(image string) string {
	repository, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndex(repository, ":"); i > strings.LastIndex(repository, "/") {
		repository = repository[:i]
	}
	return repository
}

func nameOf(image string) string { return path.Base(repositoryOf(image)) }

// upgrade upgrades one part, or restores it.
func (o *options) upgrade(cmd *cobra.Command, p part) error {
	steps.Say(cmd)("upgrading %s", p)
	works := func(context.Context) error { return nil }
	if p.member {
		before, err := p.cluster.errors(cmd.Context(), o)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		works = func(ctx context.Context) error {
			now, err := p.cluster.errors(ctx, o)
			for _, f := range now {
				if !slices.ContainsFunc(before, func(old report.Finding) bool { return old.About == f.About }) {
					err = errors.Join(err, fmt.Errorf("%s: %s", f.About, f.Message))
				}
			}
			return err
		}
	}
	if err := p.Run(cmd.Context(), o.wait, works, steps.Say(cmd)); err != nil {
		return fmt.Errorf("%s: %w", p.cluster.Target, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s has version %s\n", output.Good.On(cmd.OutOrStdout()), p, cmp.Or(o.tag, version.String()))
	return nil
}

// errors returns the errors in the status of a member.
func (c *cluster) errors(ctx context.Context, o *options) ([]report.Finding, error) {
	found, err := survey.Read(ctx, c.Config, survey.Scope{Installation: true, Broker: o.Broker(), On: c.On})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(report.NewStatus(found).Findings, func(f report.Finding) bool { return f.Severity != report.Error }), nil
}
