// Package gather is the command `atoll gather`.
package gather

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/console"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/gather"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/kit/version"
)

type options struct {
	target.Scoped
	format  output.Format
	file    string
	pods    bool
	timeout time.Duration
}

// gathered is the output for programs.
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
		Short: "Collect diagnostic data in one file",
		Long: `Writes a tar.gz file with data for troubleshooting a clusterset. The file contains Atoll's objects in
the clusters and on their broker, Events, versions, and the logs of Atoll's programs. It also contains the
configuration of the clusters' DNS, the output of atoll status and atoll check, and a page of atoll console.

The file contains no Secrets and no values of environment variables. The command removes tokens, private keys
and passwords from all texts. The file contains the names and addresses of your services and nodes. Read the
file before you send it to anyone. The command changes nothing in the clusters, unless you set --pods: then
atoll check creates its test pods.`,
		Example: `  atoll gather c1 c2
  atoll gather --file c1.tar.gz --context c1`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	o.AddAllFlag(flags)
	flags.StringVarP(&o.file, "file", "f", "", "file to write; default is atoll-gather-TIME.tar.gz in the current directory")
	flags.BoolVar(&o.pods, "pods", false, "also run the checks of atoll check that need test pods")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "maximum duration")
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
		return fmt.Errorf("creating the file: %w", err)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	archive := gather.NewArchive(file, root, now)
	o.collect(ctx, cmd, clusters, archive)
	files, missing, err := archive.Close()
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", o.file, err)
	}
	err = output.Write(cmd.OutOrStdout(), o.format, gathered{o.file, files, missing}, func(w io.Writer, g gathered) error {
		for _, m := range g.Missing {
			fmt.Fprintln(cmd.ErrOrStderr(), "missing:", m)
		}
		_, err := fmt.Fprintln(w, g.File)
		return err
	})
	if err != nil || o.format != output.Table { // programs need no hint
		return err
	}
	steps.Next(cmd, "list the contents of the file: tar tzf "+o.file)
	return nil
}

// snapshotTime limits how long clusters are read for the page: one that does not answer is in it as such.
const snapshotTime = 30 * time.Second

// snapshot returns the page of `atoll console --snapshot`.
func snapshot(ctx context.Context, clusters []checkup.Target, broker credential.Locate) ([]byte, error) {
	var page bytes.Buffer
	err := console.TakeSnapshot(ctx, clusters, broker, nil, snapshotTime, gather.Redact, &page)
	return page.Bytes(), err
}

// collect fills the archive, with a folder for each cluster.
func (o *options) collect(ctx context.Context, cmd *cobra.Command, clusters []checkup.Target, archive *gather.Archive) {
	say := steps.Say(cmd)
	archive.Add("versions.txt", []byte("atoll "+version.String()+"\n"))
	say("checking")
	evidence, problems := checkup.Gather(ctx, clusters, checkup.Options{
		NoPods: !o.pods, Broker: o.Broker(), Timeout: o.timeout, Say: say,
	})
	for _, err := range problems {
		archive.Miss("cleaning up: %v", err)
	}
	results, err := yaml.Marshal(check.Evaluate(*evidence))
	if err != nil {
		archive.Miss("check.yaml: %v", err)
	}
	archive.Add("check.yaml", results)
	say("drawing console.html")
	if page, err := snapshot(ctx, clusters, o.Broker()); err != nil {
		archive.Miss("console.html: %v", err)
	} else {
		archive.AddRedacted("console.html", page)
	}
	for i, c := range clusters {
		folder := evidence.Clusters[i].Name
		say("collecting data from %s", c)
		found, err := survey.Read(ctx, c.Config, survey.Scope{Installation: true, Endpoints: true, Broker: o.Broker(), On: c.On})
		if err != nil {
			archive.Miss("%s: %v", folder, err)
			found = nil // collect a broken agent's logs too
		}
		archive.Add(folder+"/versions.txt", []byte("kubernetes "+evidence.Clusters[i].Version+"\n"))
		gather.Collect(ctx, folder, c.Config, found, archive)
	}
}
