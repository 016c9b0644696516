// Package join is the command `atoll join`.
package join

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var cluster target.Cluster
	var request setup.JoinRequest
	var clusterID, brokerServer string
	var dryRun bool
	var wait time.Duration
	var member MemberFlags
	command := &cobra.Command{
		Use:   "join FILE|-",
		Short: "Make a cluster a member of a clusterset",
		Long: `Joins a cluster to a clusterset with a join file from "atoll broker token create". A join file works once, for
one cluster. The same cluster can use its last file again, to change settings.

The command first checks the prerequisites, and changes nothing if a prerequisite is missing. If the credentials
expired while the cluster was off, repeat the command with a new join file. If you omit a flag, its setting
stays. "atoll get config" lists the settings, except environment variables. To upgrade, use "atoll upgrade". The
command needs the permissions of a cluster administrator, and Kubernetes 1.30 or later.`,
		Example: `  atoll join c1.join --context c1
  atoll broker token create c1 --context broker | atoll join - --context c1
  atoll join c1.join --dry-run                  # check, print the manifests, change nothing`,
		Args: cobra.MatchAll(cobra.ExactArgs(1), func(*cobra.Command, []string) error { return member.Complete(&request.Member) }),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := Read(cmd, args[0])
			if err != nil {
				return err
			}
			request.File, request.ClusterID, request.Broker = file, names.ClusterID(clusterID), credential.At(brokerServer)
			to, err := cluster.Connect(steps.Report(cmd, dryRun))
			if err != nil {
				return err
			}
			if _, err := member.Restore(cmd.Context(), cmd.Flags(), to, file.Registry, &request); err != nil {
				return err
			}
			if dryRun {
				manifests, err := setup.CheckJoin(cmd.Context(), to, request, steps.Say(cmd))
				if err != nil {
					return err
				}
				return install.Print(output.Raw(cmd.OutOrStdout()), manifests...)
			}
			if err := setup.Join(cmd.Context(), to, request, steps.Say(cmd)); err != nil {
				return err
			}
			if wait > 0 && !request.Member.NoWorkloads {
				if err := setup.Await(cmd.Context(), to, request, wait, steps.Say(cmd)); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "cluster %s is a member of clusterset %s\n", file.ClusterID, file.Clusterset)
			steps.Next(cmd, cluster.Command().Atoll("dns install"))
			return nil
		},
	}
	flags := command.Flags()
	cluster.AddFlags(flags)
	flags.StringVar(&clusterID, "cluster-id", "", "expected cluster id; the command fails if the join file has a different cluster id")
	flags.StringVar(&brokerServer, "broker-server", "", "URL at which this machine reaches the broker, if it differs from the URL in the join file")
	flags.BoolVar(&request.Offline, "offline", false, "do not connect to the broker from this machine; the agent exchanges the token and checks that the cluster id is free")
	flags.BoolVar(&request.ReplaceCRDs, "replace-crds", false, "replace CustomResourceDefinitions of other products if they lack a version that Atoll needs")
	flags.DurationVar(&wait, "wait", 2*time.Minute, "maximum time to wait until the agent and the DNS server run; 0 means do not wait")
	member.AddFlags(flags)
	flags.BoolVar(&dryRun, "dry-run", false, "check, print the manifests and change nothing")
	return command
}

// Read reads a join file, or standard input if the name is -. It warns if others can read the file.
func Read(cmd *cobra.Command, name string) (credential.Membership, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return credential.Membership{}, fmt.Errorf("reading the join file: %w", err)
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			steps.Say(cmd)("warning: other users of this machine can read %[1]s (mode %#[2]o) and could use the join file to join a cluster. Run: chmod 600 %[1]s", name, info.Mode().Perm())
		}
		in = file
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return credential.Membership{}, fmt.Errorf("reading the join file: %w", err)
	}
	return credential.ParseJoinFile(data)
}
