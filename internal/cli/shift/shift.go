// Package shift has the command `atoll shift`.
//
// It moves a service's traffic to a cluster in steps: it changes the weights of a TrafficPolicy in each cluster, and keeps what it
// needs to go on and to undo in annotations of the policy. plan.go decides, place.go reads and writes one cluster, check.go
// refuses, and run.go goes through the steps.
package shift

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// options are the command's flags.
type options struct {
	at                    target.Scoped
	contexts              []string
	namespace, to         string
	steps                 []int
	every                 time.Duration
	exports, undo, dryRun bool

	service types.NamespacedName
	on      command.Cluster // all contexts, for printed commands
}

// NewCommand returns the command `atoll shift`.
func NewCommand() *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "shift [NAMESPACE/]SERVICE",
		Short: "Move a service's traffic to a cluster in steps",
		Long: `Moves a service's traffic to a cluster in steps, with the weights of a TrafficPolicy. The command
writes a TrafficPolicy for the ServiceImport in the cluster of each --context or, with --exports, one for the
oldest export. The other clusters keep their relative shares of the remaining traffic: of their earlier weights
or, without weights, of their endpoints in use. At 100 %, the other clusters are on standby: they get traffic
only if the target fails.

If the target has fewer ready endpoints than at the beginning of the step, the command stops, and the weights
stay. To continue, repeat the command.`,
		Example: `  atoll shift shop/web --to c2 --context c1 --context c3
  atoll shift shop/web --to c2 --steps 5 --every 30m --context c1    # a canary
  atoll shift shop/web --undo --context c1 --context c3`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.parse(args[0]); err != nil {
			return err
		}
		places, err := o.connect(cmd)
		if err != nil {
			return err
		}
		if o.undo {
			return o.restoreAll(cmd, places)
		}
		return o.shift(cmd, places)
	}
	flags := command.Flags()
	o.at.AddContextsFlags(flags, &o.contexts)
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the service; default is the namespace of the kubeconfig context")
	flags.StringVar(&o.to, "to", "", "id of the cluster that gets the traffic")
	flags.IntSliceVar(&o.steps, "steps", []int{10, 50, 100}, "percentages of the traffic, in ascending order")
	flags.DurationVar(&o.every, "every", 5*time.Minute, "duration of each step")
	flags.BoolVar(&o.exports, "exports", false, "write the policy for the oldest export, which applies in all clusters without a policy for their ServiceImport; other clusters must accept the policy's weights")
	flags.BoolVar(&o.undo, "undo", false, "restore the weights from before the shift")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the weights of each step, and change nothing")
	return command
}

// parse checks the argument and the flags.
func (o *options) parse(service string) error {
	first, rest, both := strings.Cut(service, "/")
	switch {
	case both && (first == "" || rest == "" || strings.Contains(rest, "/")):
		return fmt.Errorf("%w: %q does not have the form NAMESPACE/SERVICE", target.ErrUsage, service)
	case both && o.namespace != "" && o.namespace != first:
		return fmt.Errorf("%w: --namespace is %s, but %q names namespace %s: name the namespace only once", target.ErrUsage, o.namespace, service, first)
	case both:
		o.service = types.NamespacedName{Namespace: first, Name: rest}
	default:
		o.service = types.NamespacedName{Namespace: o.namespace, Name: service}
	}
	if o.to == "" && !o.undo {
		return fmt.Errorf("%w: --to must name the cluster that gets the traffic", target.ErrUsage)
	}
	if o.to != "" {
		if _, err := names.ParseClusterID(o.to); err != nil {
			return fmt.Errorf("%w: --to: %w", target.ErrUsage, err)
		}
	}
	if err := checkSteps(o.steps); err != nil {
		return fmt.Errorf("%w: %w", target.ErrUsage, err)
	}
	if o.every <= 0 {
		return fmt.Errorf("%w: --every must be positive", target.ErrUsage)
	}
	if o.exports && len(o.contexts) > 1 {
		return fmt.Errorf("%w: --exports needs one --context, of the cluster with the oldest export", target.ErrUsage)
	}
	return nil
}

// connect reads the clusters of the contexts.
func (o *options) connect(cmd *cobra.Command) ([]*place, error) {
	var places []*place
	contexts := o.contexts
	if len(contexts) == 0 {
		contexts = []string{""}
	}
	for _, context := range contexts {
		p, err := o.connectTo(cmd, context)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(places, func(other *place) bool { return other.id == p.id }) {
			return nil, fmt.Errorf("%w: two contexts are of cluster %s", target.ErrUsage, p.id)
		}
		places = append(places, p)
	}
	return places, nil
}

func (o *options) connectTo(cmd *cobra.Command, context string) (*place, error) {
	scoped := o.at.In(context)
	var err error
	if o.service.Namespace == "" {
		if o.service.Namespace, err = scoped.Namespace(""); err != nil {
			return nil, err
		}
	}
	p := &place{service: o.service, kind: mcsv1beta1.ServiceImportKindName, on: scoped.Command()}
	if o.exports {
		p.kind = mcsv1beta1.ServiceExportKindName
	}
	switch {
	case o.on == "":
		o.on = p.on
	case context != "":
		o.on += command.At("", context)
	}
	cluster, err := scoped.Connect(nil)
	if err != nil {
		return nil, err
	}
	found, err := survey.Read(cmd.Context(), cluster.Config, survey.Scope{Namespace: o.service.Namespace, Service: o.service.Name, Broker: scoped.Broker(), On: p.on})
	if err != nil {
		return nil, err
	}
	if p.id = found.ClusterID; p.id == "" {
		if err := errors.Join(found.Unread...); err != nil {
			return nil, fmt.Errorf("the id of the cluster cannot be read: %w", err)
		}
		return nil, errors.New("the cluster is not a member of a clusterset. " + p.on.ToJoin())
	}
	p.Client, p.broker = cluster.Client, found.Broker
	return p, nil
}

// again is the command that goes on.
func (o *options) again(to string, steps []int) string {
	return o.command(fmt.Sprintf(" --to %s --steps %s --every %s", to, list(steps), o.every))
}

// back is the command that undoes.
func (o *options) back() string { return o.command(" --undo") }

func (o *options) command(flags string) string {
	if o.exports {
		flags += " --exports"
	}
	return o.on.Atoll("shift %s%s", o.service, flags)
}
