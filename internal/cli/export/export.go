// Package export has the commands `atoll export` and `atoll unexport`.
package export

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
)

// options are the flags of both commands.
type options struct {
	target.Cluster
	namespace string
	dryRun    bool
}

// complete adds the argument, the flags and the function to a command.
func (o *options) complete(command *cobra.Command, run func(*cobra.Command, *install.Target, client.ObjectKey, *options) error) *cobra.Command {
	command.Args = cobra.ExactArgs(1)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		namespace, err := o.Namespace(o.namespace)
		if err != nil {
			return err
		}
		cluster, err := o.Connect(nil)
		if err != nil {
			return err
		}
		if o.dryRun {
			cluster.Client = client.NewDryRunClient(cluster.Client)
		}
		return run(cmd, cluster, client.ObjectKey{Namespace: namespace, Name: args[0]}, o)
	}
	o.AddFlags(command.Flags())
	command.Flags().StringVarP(&o.namespace, "namespace", "n", "", "namespace of the Service; default is the namespace of the kubeconfig context")
	command.Flags().BoolVar(&o.dryRun, "dry-run", false, "validate the request on the API server and change nothing")
	return command
}

// NewCommand returns the command `atoll export`.
func NewCommand() *cobra.Command {
	return new(options).complete(&cobra.Command{
		Use:   "export SERVICE",
		Short: "Export a Service to the clusterset",
		Long: `Creates a ServiceExport for a Service. Every cluster of the clusterset that has the Service's namespace then
imports the Service. You can repeat the command.`,
		Example: "  atoll export web -n shop --context c1",
	}, export)
}

func export(cmd *cobra.Command, cluster *install.Target, key client.ObjectKey, o *options) error {
	service := &corev1.Service{}
	if err := cluster.Get(cmd.Context(), key, service); err != nil {
		if apierrors.IsNotFound(err) {
			return o.missing(cmd.Context(), cluster, key)
		}
		return fmt.Errorf("reading Service %s: %w", key, err)
	}
	if verdict := contribution.Validate(service); !verdict.Valid {
		return fmt.Errorf("the Service %s cannot be exported: %s", key, verdict.Message)
	}
	if service.DeletionTimestamp != nil {
		steps.Say(cmd)("warning: Service %s is being deleted, and waits for its finalizers (%s). Its endpoints are exported only until the deletion ends", key, strings.Join(service.Finalizers, ", "))
	}
	err := cluster.Create(cmd.Context(), &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return wrap("exporting", key, cluster.On, err)
	}
	again := err != nil
	if again {
		if again, err = take(cmd, cluster, key); err != nil {
			return wrap("exporting", key, cluster.On, err)
		}
	}
	done(cmd, key, "exported", again, o.dryRun)
	err = cluster.Get(cmd.Context(), client.ObjectKey{Name: aboutv1beta1.ClustersetProperty}, &aboutv1beta1.ClusterProperty{})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		steps.Say(cmd)("warning: this cluster is not a member of a clusterset, so no other cluster imports the service. %s", o.Command().ToJoin())
		return nil
	}
	steps.Next(cmd, o.Command().Atoll("explain %s", key))
	return nil
}

// missing says which object does not exist, the namespace or the Service, and how to find the right one.
func (o *options) missing(ctx context.Context, cluster *install.Target, key client.ObjectKey) error {
	text := fmt.Sprintf("Service %s does not exist, so it cannot be exported", key)
	look := cluster.On.Kubectl("get services -n %s", key.Namespace)
	// A user who may not read namespaces gets the message about the Service.
	if err := cluster.Get(ctx, client.ObjectKey{Name: key.Namespace}, &corev1.Namespace{}); apierrors.IsNotFound(err) {
		text = fmt.Sprintf("namespace %s does not exist, so Service %s cannot be exported", key.Namespace, key.Name)
		look = cluster.On.Kubectl("get namespaces")
	}
	if o.namespace == "" {
		text += fmt.Sprintf(". Namespace %s is the default of the kubeconfig context: for another namespace, add -n NAMESPACE", key.Namespace)
	}
	return fmt.Errorf("%s. To see which exist: %s", text, look)
}

// take makes an existing ServiceExport the user's: one that the agent made for a MultiClusterService may export the Service to load
// balancers alone. It returns whether there was nothing to do.
func take(cmd *cobra.Command, cluster *install.Target, key client.ObjectKey) (was bool, _ error) {
	have := &mcsv1beta1.ServiceExport{}
	if err := cluster.Get(cmd.Context(), key, have); err != nil || !contribution.ByPolicy(have) {
		return true, err
	}
	before := have.DeepCopy()
	contribution.Release(have)
	return false, cluster.Client.Patch(cmd.Context(), have, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner("atoll"))
}

// NewUnexport returns the command `atoll unexport`.
func NewUnexport() *cobra.Command {
	return new(options).complete(&cobra.Command{
		Use:   "unexport SERVICE",
		Short: "Stop exporting a Service",
		Long: `Deletes the ServiceExport of a Service. Other clusters lose this cluster's endpoints. If no other cluster exports
the service, they also lose the ServiceImport. The Service stays. You can repeat the command.`,
		Example: "  atoll unexport web -n shop --context c1",
	}, unexport)
}

func unexport(cmd *cobra.Command, cluster *install.Target, key client.ObjectKey, o *options) error {
	have := &mcsv1beta1.ServiceExport{}
	err := cluster.Get(cmd.Context(), key, have)
	if err == nil && contribution.ByPolicy(have) {
		return fmt.Errorf("the ServiceExport %s belongs to a MultiClusterService on the hub, and the agent would create the ServiceExport again: change the MultiClusterService", key)
	}
	if err == nil {
		err = cluster.Client.Delete(cmd.Context(), have)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return wrap("un-exporting", key, cluster.On, err)
	}
	done(cmd, key, "unexported", err != nil, o.dryRun)
	return nil
}

// wrap adds the failed action to an error, and the fix if the API is missing.
func wrap(what string, key client.ObjectKey, on command.Cluster, err error) error {
	if meta.IsNoMatchError(err) {
		return errors.New("the cluster has no CustomResourceDefinition for ServiceExports, so the cluster is not a member of a clusterset. " + on.ToJoin())
	}
	return fmt.Errorf("%s %s: %w", what, key, err)
}

func done(cmd *cobra.Command, key client.ObjectKey, what string, already, dryRun bool) {
	text := fmt.Sprintf("service %s %s", key, what)
	if already {
		text += " already"
	}
	if dryRun {
		text += " (dry run)"
	}
	fmt.Fprintln(cmd.OutOrStdout(), text)
}
