// Package render is the command `atoll render`, which prints manifests for GitOps. They come from the same code.
package render

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/cli/dns"
	"github.com/atoll-mcs/atoll/internal/cli/hub"
	"github.com/atoll-mcs/atoll/internal/cli/join"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// NewCommand returns the command with its sub-commands.
func NewCommand() *cobra.Command {
	var to output.Manifests
	command := &cobra.Command{
		Use:   "render",
		Short: "Print the manifests that Atoll installs, for GitOps",
		Long: `Prints the objects that "atoll broker deploy", "atoll join", "atoll hub deploy" and "atoll dns install" would
apply, and applies nothing. With --output-dir, the commands write the objects to a directory for kustomize. Only
"render dns" without --from reads from a cluster.

These commands do not check the cluster. For example, they do not check whether another product has installed
the same CustomResourceDefinitions. See docs/how-to/gitops.md.`,
		Example: `  atoll render broker --output-dir broker
  atoll render member --cluster-id c1 --output-dir c1
  atoll render secret c1.join | kubectl --context c1 apply --server-side -f -
  atoll render dns --context c1 > c1/coredns.yaml`,
	}
	to.AddFlags(command.PersistentFlags())
	command.AddCommand(newBroker(&to), newMember(&to), newSecret(&to), newHub(&to), dns.NewRender(&to))
	return command
}

// write writes objects as join and hub install would apply them.
func write(cmd *cobra.Command, to *output.Manifests, name string, crds, objects []*unstructured.Unstructured) error {
	return to.Write(cmd, output.Part{Name: "crds", Objects: marked(crds)}, output.Part{Name: name, Objects: marked(objects)})
}

func marked(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		all = append(all, install.Marked(o))
	}
	return all
}

func newBroker(to *output.Manifests) *cobra.Command {
	var namespace string
	var defaultExports setup.DefaultExports
	command := &cobra.Command{
		Use:     "broker",
		Short:   "Render the objects that `atoll broker deploy` applies",
		Example: "  atoll render broker\n  atoll render broker --clusterset staging --output-dir broker",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setup.CheckClusterset(namespace); err != nil {
				return err
			}
			crds, objects := setup.BrokerManifests(namespace, defaultExports)
			return write(cmd, to, "broker", crds, objects)
		},
	}
	target.AddClustersetFlag(command.Flags(), &namespace)
	command.Flags().Var(&defaultExports, "default-exports", setup.DefaultExportsUsage)
	return command
}

func newMember(to *output.Manifests) *cobra.Command {
	var member join.MemberFlags
	var what render.Member
	var clusterID, clusterset string
	var onBroker bool
	command := &cobra.Command{
		Use:   "member --cluster-id ID",
		Short: "Render the objects that `atoll join` applies, except the Secret",
		Long: `Renders the objects that "atoll join" applies in a cluster, except the Secret. "atoll render secret" renders the
Secret from a join file. The agent exchanges the token of the join file and checks that the cluster id is free. The
agent then renews the token in the Secret, so make sure that no other tool overwrites the Secret.`,
		Example: `  atoll render member --cluster-id c1 --region eu --output-dir c1`,
		Args:    cobra.MatchAll(cobra.NoArgs, func(*cobra.Command, []string) error { return member.Complete(&what) }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := names.ParseClusterID(clusterID)
			if err != nil {
				return fmt.Errorf("%w: --cluster-id: %w", target.ErrUsage, err)
			}
			crds, objects := setup.MemberManifests(what, id, clusterset, onBroker)
			return write(cmd, to, "member", crds, objects)
		},
	}
	target.AddClustersetFlag(command.Flags(), &clusterset)
	flags := command.Flags()
	flags.StringVar(&clusterID, "cluster-id", "", "cluster id")
	flags.BoolVar(&onBroker, "on-broker", false, "set this flag if the cluster is also a broker")
	member.AddFlags(flags)
	return command
}

func newSecret(to *output.Manifests) *cobra.Command {
	return &cobra.Command{
		Use:   "secret FILE|-",
		Short: "Render the Secret of a member from a join file",
		Long: `Renders the Secret that "atoll join" creates from a join file. The Secret works once, before the
join file expires. Apply the Secret once, before or after the other objects. Do not store it unencrypted: anyone
who reads the Secret can join another cluster. The agent later writes its own token into the Secret.`,
		Example: `  atoll broker token create c1 --context broker | atoll render secret - | kubectl --context c1 apply --server-side -f -`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := join.Read(cmd, args[0])
			if err != nil {
				return err
			}
			return write(cmd, to, "secret", nil, install.Objects(file.Secret(names.SystemNamespace)))
		},
	}
}

func newHub(to *output.Manifests) *cobra.Command {
	var what render.Hub
	command := &cobra.Command{
		Use:     "hub",
		Short:   "Render the objects that `atoll hub deploy` applies",
		Example: "  atoll render hub --output-dir hub",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setup.CheckClusterset(what.Clusterset); err != nil {
				return err
			}
			if err := what.Validate(); err != nil {
				return err
			}
			crds, objects := what.Manifests()
			return write(cmd, to, "hub", crds, objects)
		},
	}
	target.AddClustersetFlag(command.Flags(), &what.Clusterset)
	hub.AddFlags(command.Flags(), &what)
	return command
}
