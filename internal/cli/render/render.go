// Package render is the command `atoll render`: the objects that the commands which install Atoll apply, as manifests for
// GitOps. They come from the same code.
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
		Short: "Write the manifests of what Atoll installs, for GitOps",
		Long: `Writes the objects that "atoll broker deploy", "atoll join", "atoll hub deploy" and "atoll dns
install" would apply, and applies nothing: to standard output, or with --output-dir into a directory
that kustomize takes. Only "render dns" asks a cluster for anything, and without --from alone.

What checks these commands make, they make with the cluster before them: a definition of somebody
else's is not looked for here. docs/how-to/gitops.md says how to go on.`,
		Example: `  atoll render broker --output-dir broker
  atoll render member --cluster-id c1 --output-dir c1
  atoll render secret c1.join | kubectl --context c1 apply --server-side -f -
  atoll render dns --context c1 > c1/coredns.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	to.AddFlags(command.PersistentFlags())
	command.AddCommand(newBroker(&to), newMember(&to), newSecret(&to), newHub(&to), dns.NewRender(&to))
	return command
}

// write writes objects as they would be applied.
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
		Short:   "Render what `atoll broker deploy` applies",
		Example: "  atoll render broker\n  atoll render broker --namespace staging --output-dir broker",
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
		Short: "Render what `atoll join` applies, but the Secret",
		Long: `Renders what "atoll join" applies in a cluster, but the Secret with the membership: "atoll render
secret" makes that of a join file. The agent exchanges the join file's token by itself, and makes sure
that the id is free. It keeps the token in that Secret new, so nothing else may go on writing it.`,
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
	flags.StringVar(&clusterID, "cluster-id", "", "the id that the cluster has, or is to have")
	flags.BoolVar(&onBroker, "on-broker", false, "the cluster holds clustersets, too")
	member.AddFlags(flags)
	return command
}

func newSecret(to *output.Manifests) *cobra.Command {
	return &cobra.Command{
		Use:   "secret FILE|-",
		Short: "Render the Secret that makes a cluster a member, of a join file",
		Long: `Renders the Secret that "atoll join" makes of a join file. It is good for as long as the file is, and
once. Apply it before or after the rest, once, or seal it with what you have for that: whoever reads
it can make a cluster of his own a member. The agent writes its own token into the Secret then.`,
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
		Short:   "Render what `atoll hub deploy` applies",
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
