// Package drain has the commands `atoll drain` and `atoll undrain`.
package drain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// pollEach is how often the heartbeats are read. Members renew theirs every few seconds.
const pollEach = time.Second

// options are the flags of both commands.
type options struct {
	target.Scoped
	cluster            names.ClusterID
	namespace, service string
	length             time.Duration
	wait               bool
	timeout            time.Duration
	dryRun             bool
}

// NewCommand returns the command `atoll drain`.
func NewCommand() *cobra.Command {
	o := &options{}
	command := o.complete(&cobra.Command{
		Use:   "drain CLUSTER",
		Short: "Send no new connections to a cluster's exported services",
		Long: `Drains a cluster, one of its namespaces, or one of its Services. All clusters, including the
drained cluster, then send no new connections to the drained endpoints while another cluster can serve the
service. Established connections stay. If no other cluster can serve a service, its traffic does not change.
While another cluster has a ready pod, DNS omits a headless Service's addresses in the drained cluster. The
names of single pods still resolve.

Run the command with a context of the cluster itself. The broker's administrator can drain a cluster with
"atoll broker members set CLUSTER --drained".

With --wait, the command ends when all clusters that send heartbeats have put the endpoints on standby. If a
cluster has not done so within --timeout, the exit status is 1, and the drain stays.`,
		Example: `  atoll drain c1 --context c1
  atoll drain c1 --for 2h --context c1                         # ends by itself
  atoll drain c1 -n shop --service web --context c1
  atoll drain c1 --wait --timeout 5m --context c1`,
	}, o.drain)
	command.Flags().BoolVar(&o.wait, "wait", false, "wait until all clusters have applied the drain")
	command.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "with --wait: maximum time to wait")
	command.Flags().DurationVar(&o.length, "for", 0, "duration of the drain; by default, the drain lasts until atoll undrain")
	return command
}

// NewUndrain returns the command `atoll undrain`.
func NewUndrain() *cobra.Command {
	o := &options{}
	return o.complete(&cobra.Command{
		Use:     "undrain CLUSTER",
		Short:   "End the drain of a cluster's exported services",
		Long:    `Ends the drain of a cluster, of one of its namespaces, or of one of its Services. You can repeat the command.`,
		Example: "  atoll undrain c1 --context c1\n  atoll undrain c1 -n shop --service web --context c1",
	}, o.undrain)
}

func (o *options) complete(command *cobra.Command, run func(*cobra.Command, *install.Target, *survey.Survey) error) *cobra.Command {
	command.Args = cobra.ExactArgs(1)
	command.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.cluster, err = names.ParseClusterID(args[0]); err != nil {
			return err
		}
		if o.service != "" && o.namespace == "" {
			if o.namespace, err = o.Namespace(""); err != nil {
				return err
			}
		}
		cluster, err := o.Connect(nil)
		if err != nil {
			return err
		}
		found, err := survey.Read(cmd.Context(), cluster.Config, survey.Scope{Namespace: o.namespace, Service: o.service, Endpoints: true, Installation: true, Broker: o.Broker(), On: o.Command()})
		if err != nil {
			return err
		}
		if found.ClusterID != o.cluster {
			if all := report.Members(found); len(all) > 0 && !slices.ContainsFunc(all, func(m report.Member) bool { return m.Cluster == o.cluster.String() }) {
				return fmt.Errorf("cluster %q is not a member of clusterset %s. To see the members: %s", o.cluster, found.Clusterset, o.Command().Atoll("get clusters"))
			}
			return fmt.Errorf("this context is of cluster %q, not of cluster %q: use a context of the cluster to drain", found.ClusterID, o.cluster)
		}
		if o.dryRun {
			cluster.Client = client.NewDryRunClient(cluster.Client)
		}
		return run(cmd, cluster, found)
	}
	o.AddFlags(command.Flags())
	command.Flags().StringVarP(&o.namespace, "namespace", "n", "", "only this namespace")
	command.Flags().StringVar(&o.service, "service", "", "only this exported Service; without --namespace, in the namespace of the kubeconfig context")
	command.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the consequences, and change nothing")
	return command
}

// object returns the object whose annotation drains.
func (o *options) object() client.Object {
	switch {
	case o.service != "":
		return &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.service}}
	case o.namespace != "":
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace}}
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.SystemNamespace}}
}

// what names what is drained.
func (o *options) what() string {
	switch {
	case o.service != "":
		return fmt.Sprintf("service %s/%s of cluster %s", o.namespace, o.service, o.cluster)
	case o.namespace != "":
		return fmt.Sprintf("namespace %s of cluster %s", o.namespace, o.cluster)
	}
	return "cluster " + o.cluster.String()
}

func (o *options) drain(cmd *cobra.Command, cluster *install.Target, found *survey.Survey) error {
	say := steps.Say(cmd)
	value := "true"
	switch {
	case o.namespace == names.SystemNamespace && o.service == "":
		return fmt.Errorf("a drain of namespace %s drains the whole cluster: omit --namespace", names.SystemNamespace)
	case o.length < 0:
		return errors.New("--for must be positive")
	case o.wait && o.dryRun:
		return errors.New("--wait and --dry-run are mutually exclusive")
	case o.wait && o.length > 0 && o.length <= o.timeout:
		return fmt.Errorf("with --wait, --for must be longer than --timeout (%v): the drain would end while the command waits", o.timeout)
	case o.length > 0:
		value = time.Now().Add(o.length).UTC().Format(time.RFC3339)
	}
	until := ""
	if o.length > 0 {
		until = " until " + value
	}
	if o.dryRun {
		if err := o.annotate(cmd, cluster, &value); err != nil {
			return err
		}
		o.preview(say, found, until)
		return nil
	}
	for _, text := range report.DrainImpact(found) {
		say("warning: %s", text)
	}
	if err := o.annotate(cmd, cluster, &value); err != nil {
		return err
	}
	say("%s is drained%s", o.what(), until)
	if found.Broker == nil {
		say("warning: the command cannot read the broker (%v), so other clusters may not apply the drain yet. Until they apply it, their traffic continues", found.BrokerErr)
	}
	o.warnOfAgents(say, found)
	steps.Next(cmd, o.Command().Atoll("undrain %s%s", o.cluster, o.flags()))
	if o.wait {
		return o.awaitFollowers(cmd, cluster)
	}
	return nil
}

// preview says what a drain would do.
func (o *options) preview(say setup.Say, found *survey.Survey, until string) {
	text := fmt.Sprintf("%s would be drained%s", o.what(), until)
	if summary := report.DrainSummary(found); summary != "" {
		text += ": " + summary
	}
	say("%s", text)
	for _, text := range report.DrainImpact(found) {
		say("warning: %s", text)
	}
	o.warnOfAgents(say, found)
	say(steps.NothingChanged)
}

// warnOfAgents says if other clusters do not learn of a drain for now.
func (o *options) warnOfAgents(say setup.Say, found *survey.Survey) {
	if report.HasNoReadyAgent(found) {
		say("warning: no atoll-agent pod of cluster %s is ready. Other clusters apply the drain only when an atoll-agent pod is ready", o.cluster)
	}
}

func (o *options) undrain(cmd *cobra.Command, cluster *install.Target, found *survey.Survey) error {
	if err := o.annotate(cmd, cluster, nil); err != nil {
		return err
	}
	say := steps.Say(cmd)
	around, within := o.remaining(found)
	ended, still := "is no longer", "is still"
	if o.dryRun {
		ended, still = "would no longer be", "would still be"
	}
	if len(around) == 0 {
		say("%s %s drained", o.what(), ended)
	} else {
		say("warning: %s %s drained, because of the drain of %s", o.what(), still, strings.Join(around, " and of "))
	}
	if len(within) > 0 {
		say("warning: these also have their own drains: %s", strings.Join(within, ", "))
	}
	if o.dryRun {
		say(steps.NothingChanged)
	}
	return nil
}

// awaitFollowers waits until all clusters with a heartbeat follow the drain.
func (o *options) awaitFollowers(cmd *cobra.Command, cluster *install.Target) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	var last *report.Followers
	err := wait.PollUntilContextCancel(ctx, pollEach, true, func(ctx context.Context) (bool, error) {
		found, err := survey.ReadDrain(ctx, cluster, survey.Scope{Broker: o.Broker(), On: o.Command()})
		switch {
		case err != nil && last == nil:
			return false, fmt.Errorf("other clusters may not have applied the drain, so their traffic may continue: %w", err)
		case err != nil:
			return false, nil // the broker was there a moment ago
		}
		f := report.FollowersOf(found, o.namespace, o.service)
		last = &f
		return len(f.Unpublished) == 0 && len(f.Await) == 0, nil
	})
	if last == nil {
		return err
	}
	say := steps.Say(cmd)
	if len(last.Silent) > 0 {
		say("warning: did not wait for clusters without a heartbeat: %s", strings.Join(last.Silent, ", "))
	}
	switch {
	case err == nil:
		say("all clusters have applied the drain: %s", strings.Join(last.Follow, ", "))
		return nil
	case cmd.Context().Err() != nil:
		return fmt.Errorf("interrupted: %s stays drained, but not all clusters have applied the drain yet", o.what())
	case !wait.Interrupted(err):
		return err
	case len(last.Unpublished) > 0:
		return fmt.Errorf("after %v, this cluster's agent has not published the drain of %s. Read the agent's log: %s", o.timeout, strings.Join(last.Unpublished, ", "), render.ShowAgentLog(o.Command()))
	}
	return fmt.Errorf("after %v, these clusters have not applied the drain yet, or run an agent that does not report this: %s", o.timeout, strings.Join(last.Await, ", "))
}

// remaining returns what else drains all of what was undrained, and a part of it.
func (o *options) remaining(found *survey.Survey) (around, within []string) {
	add := func(object client.Object, name string, contains, isPart bool) {
		if end, drained := drain.End(object); !drained || !end.IsZero() && end.Before(time.Now()) {
			return
		}
		if contains {
			around = append(around, name)
		} else if isPart {
			within = append(within, name)
		}
	}
	for i := range found.Cluster.Namespaces {
		n := &found.Cluster.Namespaces[i]
		switch isSystem := n.Name == names.SystemNamespace; {
		case isSystem:
			add(n, "cluster "+o.cluster.String(), o.namespace != "", false)
		default:
			add(n, "namespace "+n.Name, n.Name == o.namespace && o.service != "", o.namespace == "")
		}
	}
	for i := range found.Cluster.Exports {
		e := &found.Cluster.Exports[i]
		add(e, "service "+e.Namespace+"/"+e.Name, false, o.service == "" && (o.namespace == "" || o.namespace == e.Namespace))
	}
	if found.Broker != nil && found.Broker.Permissions.Drains(o.cluster) {
		around = append(around, "the broker's administrator")
	}
	return around, within
}

// annotate sets the annotation, or removes it.
func (o *options) annotate(cmd *cobra.Command, cluster *install.Target, value *string) error {
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{names.AnnotationDrained: value}}}) // strings always marshal
	object := o.object()
	err := cluster.Client.Patch(cmd.Context(), object, client.RawPatch(types.MergePatchType, patch))
	switch {
	case apierrors.IsNotFound(err) && o.service != "":
		return fmt.Errorf("cluster %s does not export Service %s/%s", o.cluster, o.namespace, o.service)
	case err != nil:
		return fmt.Errorf("changing the annotation %s of %s: %w", names.AnnotationDrained, install.Name(object), err)
	}
	return nil
}

func (o *options) flags() (text string) {
	if o.namespace != "" {
		text += " -n " + o.namespace
	}
	if o.service != "" {
		text += " --service " + o.service
	}
	return text
}
