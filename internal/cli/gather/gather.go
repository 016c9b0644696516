// Package gather is the command `atoll gather`.
package gather

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/gather"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/kit/version"
)

// options are the flags.
type options struct {
	target.Several
	format  output.Format
	file    string
	pods    bool
	timeout time.Duration
}

// gathered is what was gathered, for programs.
type gathered struct {
	File    string        `json:"file"`
	Files   []gather.File `json:"files"`
	Missing []string      `json:"missing,omitempty"`
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "gather [CONTEXT...]",
		Short: "Put all that is needed to help into one file",
		Long: `Writes a tar.gz with what somebody needs who is to find out why a clusterset does not work: Atoll's
objects in the clusters and on their broker, those of the clusters' DNS, Events, the logs of Atoll's
programs, versions, and what atoll status and atoll check have to say.

No Secret is in it, values of environment variables are left out, and tokens, private keys and
passwords are taken out of all texts. Names and addresses of your services and nodes are in it: look
through it before you send it to somebody. It changes nothing in the clusters, unless --pods has
atoll check make its pods there.`,
		Example: `  atoll gather c1 c2
  atoll gather --file c1.tar.gz --context c1`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	flags.StringVarP(&o.file, "file", "f", "", "the file to write, in place of atoll-gather-TIME.tar.gz in this folder")
	flags.BoolVar(&o.pods, "pods", false, "have atoll check make its pods in the clusters, for what can be found out from there alone")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long all of it may take")
	output.AddFlag(flags, &o.format, output.Table, output.JSON, output.YAML)
	return command
}

func (o *options) run(cmd *cobra.Command, contexts []string) (err error) {
	clusters, err := o.Configs(contexts)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	root := "atoll-gather-" + now.Format("20060102T150405Z")
	if o.file == "" {
		o.file = root + ".tar.gz"
	}
	file, err := os.OpenFile(o.file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("making the file: %w", err)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	archive := gather.NewArchive(file, root, now)
	o.collect(ctx, cmd, clusters, archive)
	files, missing, err := archive.Close()
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", o.file, err)
	}
	if done, err := o.format.Structured(cmd.OutOrStdout(), gathered{o.file, files, missing}); done || err != nil {
		return err
	}
	for _, m := range missing {
		fmt.Fprintln(cmd.ErrOrStderr(), "missing:", m)
	}
	fmt.Fprintln(cmd.OutOrStdout(), o.file)
	steps.Next(cmd, "look what is in it: tar tzf "+o.file)
	return nil
}

// collect fills the archive, with a folder for each cluster.
func (o *options) collect(ctx context.Context, cmd *cobra.Command, clusters []checkup.Target, archive *gather.Archive) {
	say := steps.Say(cmd)
	archive.Add("versions.txt", []byte("atoll "+version.String()+"\n"))
	say("checking")
	evidence, problems := checkup.Gather(ctx, clusters, checkup.Options{
		NoPods: !o.pods, BrokerServer: o.BrokerServer, Timeout: o.timeout, Say: say,
	})
	for _, err := range problems {
		archive.Miss("cleaning up: %v", err)
	}
	results, err := yaml.Marshal(check.Evaluate(*evidence))
	if err != nil {
		archive.Miss("check.yaml: %v", err)
	}
	archive.Add("check.yaml", results)
	for i, c := range clusters {
		folder := evidence.Clusters[i].Name
		say("collecting from %s", c)
		found, err := survey.Read(ctx, c.Config, survey.Scope{Installation: true, Endpoints: true, BrokerServer: o.BrokerServer, On: c.On})
		if err != nil {
			archive.Miss("%s: %v", folder, err)
			found = nil // what is ill needs help most: there are its logs
		}
		archive.Add(folder+"/versions.txt", []byte("kubernetes "+evidence.Clusters[i].Version+"\n"))
		gather.Collect(ctx, gather.Cluster{Folder: folder, Config: c.Config, Survey: found}, archive)
	}
}
