package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func newToken(o *target.Clusterset) *cobra.Command {
	command := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke join files",
	}
	command.AddCommand(newTokenCreate(o), newTokenList(o), newTokenRevoke(o))
	return command
}

func newTokenCreate(o *target.Clusterset) *cobra.Command {
	var request setup.TokenRequest
	var caFile, file string
	var force bool
	command := &cobra.Command{
		Use:   "create CLUSTER",
		Short: "Create a join file, which lets one cluster join once",
		Long: `Creates accounts on the broker for a cluster, and a join file. The cluster id consists of one or
two DNS labels. The join file contains the broker's URL and certificate authority, and a token. The join file
works once, for this cluster id, until it expires. Keep it secret, because anyone with the join file can join a
cluster. An earlier join file for the same cluster stops working.

To replace the credentials of a member, let the cluster join again with a new join file. When the cluster has
joined, the earlier credentials stop working. If the member sends heartbeats, add --replace. The new join file
then expires after an hour at most, because another cluster could use it to take the member's place.

With --output, only you can read the join file. Without --output, the command writes the join file to standard
output.`,
		Example: `  atoll broker token create c1 --context broker --output c1.join
  atoll broker token create c1 --context broker --output c1.join --replace   # new credentials for a member
  atoll broker token create c1 --context broker | atoll join - --context c1`,
		Args: clusterID(&request.Cluster),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			request.Namespace = o.Name
			if request.Replace {
				request.Lifetime = min(request.Lifetime, setup.ReplaceLifetime)
			}
			if caFile != "" {
				if request.CA, err = os.ReadFile(caFile); err != nil {
					return fmt.Errorf("reading the broker's certificate authority: %w", err)
				}
			}
			on, err := o.Connect(steps.Report(cmd, false))
			if err != nil {
				return err
			}
			if request.Server == "" || on.Config.Proxy != nil {
				for _, text := range setup.NotInJoinFile(on.Config) {
					steps.Say(cmd)("warning: %s", text)
				}
			}
			var expires time.Time
			content := func() ([]byte, error) {
				m, err := setup.CreateToken(cmd.Context(), on, request)
				if err != nil {
					return nil, err
				}
				claims, err := credential.ParseToken(m.Token)
				if err != nil {
					return nil, err
				}
				expires = claims.Expires
				return m.JoinFile()
			}
			if file != "" {
				err = writePrivate(file, force, content)
			} else {
				err = writeStdout(cmd, content)
			}
			if err != nil {
				return err
			}
			say := steps.Say(cmd)
			if file == "" {
				file = "FILE"
			}
			say("the join file works once, until %s", expires.UTC().Format(time.RFC3339))
			if granted := time.Until(expires); granted < request.Lifetime-time.Minute {
				say("the broker's API server issues tokens for at most %v", granted.Round(time.Minute))
			}
			steps.Next(cmd, command.Of(request.Cluster.String()).Atoll("join %s", file))
			return nil
		},
	}
	flags := command.Flags()
	flags.DurationVar(&request.Lifetime, "ttl", 24*time.Hour, fmt.Sprintf("lifetime of the join file, from %v to %v", setup.MinJoinLifetime, setup.MaxJoinLifetime))
	flags.StringVarP(&file, "output", "o", "", "file to which the command writes the join file, and which only you can read; default is standard output")
	flags.BoolVar(&force, "force", false, "replace the file of --output if it exists")
	flags.BoolVar(&request.Replace, "replace", false, fmt.Sprintf("also create a join file for a member that sends heartbeats, to replace its credentials; the lifetime is at most %v", setup.ReplaceLifetime))
	flags.StringVar(&request.Server, "server", "", "URL at which the member reaches the broker; default is the URL in the kubeconfig")
	flags.StringVar(&caFile, "ca-file", "", "file with the broker's certificate authority for the member; default is the certificate authority in the kubeconfig")
	return command
}

// writeStdout writes a secret to standard output, and warns if that is a file that others can read.
func writeStdout(cmd *cobra.Command, content func() ([]byte, error)) error {
	data, err := content()
	if err != nil {
		return err
	}
	stdout := output.Raw(cmd.OutOrStdout())
	if file, ok := stdout.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			steps.Say(cmd)("warning: standard output is a file that other users of this machine can read (mode %#o). Use --output FILE", info.Mode().Perm())
		}
	}
	_, err = stdout.Write(data)
	return err
}

// writePrivate writes a file that only its owner can read, whatever the umask. It creates the file first: an error must
// not waste a token. With force it replaces an existing file, which others may have open.
func writePrivate(path string, force bool, content func() ([]byte, error)) (err error) {
	var file *os.File
	if force {
		file, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	} else {
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("file %s already exists: choose another name, or replace the file with --force", path)
	}
	if err != nil {
		return fmt.Errorf("creating the join file: %w", err)
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err == nil && force {
			err = os.Rename(file.Name(), path)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := file.Chmod(0o600); err != nil {
		return err
	}
	data, err := content()
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return err
}

func newTokenList(o *target.Clusterset) *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "list",
		Short: "List join files and their state: unused, expired or used",
		Long: `Lists the join files of the clusterset. If a join file has the state "used", a cluster joined with
it at the time USED. If you do not know that cluster, expel it with
"atoll broker members remove CLUSTER --force". A used join file stays in the list until the next join of the
cluster is complete.`,
		Example: `  atoll broker token list --context broker`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			on, err := o.Connect(steps.Report(cmd, false))
			if err != nil {
				return err
			}
			tokens, err := setup.ListTokens(cmd.Context(), on, o.Name, time.Now())
			if err != nil {
				return err
			}
			return output.Rows(cmd.OutOrStdout(), format, tokens, func(t setup.JoinToken) string { return t.Cluster }, output.Columns[setup.JoinToken]{
				Headers: []string{"CLUSTER", "STATE", "EXPIRES", "USED"},
				Cells:   func(t setup.JoinToken) []any { return []any{t.Cluster, t.State, moment(t.Expires), moment(t.Used)} },
			})
		},
	}
	output.AddFlag(command.Flags(), &format, output.Table, output.JSON, output.YAML, output.Name)
	return command
}

// moment formats a time, which may be nil.
func moment(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func newTokenRevoke(o *target.Clusterset) *cobra.Command {
	var cluster names.ClusterID
	command := &cobra.Command{
		Use:   "revoke CLUSTER",
		Short: "Revoke a join file",
		Long: `Revokes the join file of a cluster immediately. A cluster that has already used the join file stays a member.
To expel a member, use "atoll broker members remove --force".`,
		Example: `  atoll broker token revoke c1 --context broker`,
		Args:    clusterID(&cluster),
		RunE: func(cmd *cobra.Command, _ []string) error {
			on, err := o.Connect(steps.Report(cmd, false))
			if err != nil {
				return err
			}
			before, err := setup.RevokeToken(cmd.Context(), on, o.Name, cluster, time.Now())
			if err != nil {
				return err
			}
			say := steps.Say(cmd)
			switch {
			case before == nil:
				say("no usable join file for cluster %s exists", cluster)
			case before.State == setup.Used:
				say("the join file of cluster %s was already used at %s. The cluster that used the join file stays a member", cluster, moment(before.Used))
			default:
				say("the join file of cluster %s is revoked. Its state was %s. A cluster that is already a member stays a member", cluster, before.State)
			}
			steps.Next(cmd, "to expel a cluster that has joined with this join file, which ends its exports in all clusters: "+o.Command().Atoll("broker members remove %s --clusterset %s --force", cluster, o.Name))
			return nil
		},
	}
	return command
}
