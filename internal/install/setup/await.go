package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Await waits until Atoll's Deployments in a joined cluster are available. Unless the join was offline, it also waits
// until the agents have registered the cluster on the broker. The error describes the obstacle.
func Await(ctx context.Context, cluster *install.Target, r JoinRequest, patience time.Duration, say Say) error {
	say("waiting at most %v (--wait) until the agent and the DNS server run", patience)
	show := cluster.On.Kubectl("get pods -n %s", names.SystemNamespace) + " and " + render.ShowAgentLog(cluster.On)
	if err := install.Wait(ctx, patience, func(ctx context.Context) error { return available(ctx, cluster, names.SystemNamespace) }); err != nil {
		return hint("The installed components keep retrying. To see the state of the components: "+show, "the cluster has joined, but %w", err)
	}
	if r.Offline {
		return nil
	}
	state, err := readMember(ctx, cluster)
	if err != nil || state.joined == nil {
		return errors.Join(err, state.broken)
	}
	m := *state.joined
	onBroker, err := connect(m, r.Broker, nil)
	if err != nil {
		return err
	}
	err = install.Wait(ctx, patience, func(ctx context.Context) error {
		entry := &brokerv1alpha1.MemberCluster{}
		if err := onBroker.Get(ctx, client.ObjectKey{Namespace: m.Clusterset, Name: m.ClusterID.String()}, entry); err != nil {
			return err
		}
		if entry.Removed() {
			return errors.New("the MemberCluster belongs to a member that has left")
		}
		if entry.Spec.ClusterUID != state.uid {
			return fmt.Errorf("the MemberCluster belongs to another cluster with UID %s", entry.Spec.ClusterUID)
		}
		return nil
	})
	if err != nil {
		return hint("Check that the cluster's pods reach the broker at "+m.Server+". To see the state of the agents: "+show, "the cluster has joined, but the agents have not registered the cluster on the broker: %w", err)
	}
	return nil
}

// available returns nil when all Deployments of a namespace are up to date and have a ready pod.
func available(ctx context.Context, cluster *install.Target, namespace string) error {
	deployments := &appsv1.DeploymentList{}
	if err := cluster.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("the cluster's Deployments cannot be read: %w", err)
	}
	for _, d := range deployments.Items {
		wanted, status := ptr.Deref(d.Spec.Replicas, 1), d.Status
		if wanted == 0 || status.ObservedGeneration >= d.Generation && status.UpdatedReplicas == wanted && status.Replicas == wanted && status.AvailableReplicas > 0 {
			continue
		}
		return fmt.Errorf("the Deployment %s is not available: %d of %d pods are ready%s", d.Name, status.AvailableReplicas, wanted, reasons(ctx, cluster, &d))
	}
	return nil
}

// reasons says why a Deployment's pods do not run.
func reasons(ctx context.Context, cluster *install.Target, d *appsv1.Deployment) string {
	pods := &corev1.PodList{}
	_ = cluster.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)) // the Deployment's conditions may say why
	return describe(install.Unready(d, pods.Items))
}

// describe formats the reasons why pods do not run, with what to do about a refusal.
func describe(why []string) string {
	if len(why) == 0 {
		return ""
	}
	text := " (" + strings.Join(why, "; ") + ")"
	if strings.Contains(text, "is forbidden") {
		text += ". If a ResourceQuota or a LimitRange refuses the pods, change the quota, or repeat the command with --resources, for example --resources limits.cpu=500m"
	}
	return text
}
