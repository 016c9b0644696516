package lab

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// workload is one of Atoll's Deployments in a cluster with nodes. It is killed and started like a unit, by the unit's
// name.
type workload struct{ cluster, unit, deployment string }

// String is the workload's name on the command line.
func (w workload) String() string { return w.cluster + "/" + w.unit }

// workloads are a cluster's workloads; the broker, and clusters with agent processes, have none.
func (l *Lab) workloads(cluster string) []workload {
	if l.Spec.ControlPlaneOnly || l.Spec.Bare || cluster == Broker {
		return nil
	}
	if _, err := l.Spec.Cluster(cluster); err != nil {
		return nil
	}
	return []workload{{cluster, unitAgent, render.AgentName}, {cluster, unitDNS, render.DNSName}}
}

func (l *Lab) workloadUnits(cluster string) []string {
	var all []string
	for _, w := range l.workloads(cluster) {
		all = append(all, w.unit)
	}
	return all
}

// workload finds the workload that CLUSTER/UNIT names, if any.
func (l *Lab) workload(target string) (workload, bool) {
	cluster, _, _ := strings.Cut(target, "/")
	all := l.workloads(cluster)
	i := slices.IndexFunc(all, func(w workload) bool { return w.String() == target })
	if i < 0 {
		return workload{}, false
	}
	return all[i], true
}

// killWorkload prevents new pods of a workload and kills all that there are. It returns when their processes have ended:
// the API server forgets pods that are deleted without a grace period before their kubelets have ended them.
func (l *Lab) killWorkload(ctx context.Context, w workload) error {
	kube, err := l.client(w.cluster)
	if err != nil {
		return err
	}
	pods := kube.CoreV1().Pods(names.SystemNamespace)
	selector := metav1.ListOptions{LabelSelector: render.LabelName + "=" + w.deployment}
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	if err := l.scale(ctx, w, 0); err != nil {
		return err
	}
	killed := map[types.UID]bool{}
	return l.wait(ctx, "the end of "+w.String(), nil, func(ctx context.Context) error {
		list, err := pods.List(ctx, selector)
		if err != nil {
			return err
		}
		for _, p := range list.Items {
			killed[p.UID] = true
			if err := pods.Delete(ctx, p.Name, now); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%d pods still exist", len(list.Items))
		}
		for pod := range killed {
			if process, err := PodProcess(pod, "/"); err == nil {
				return fmt.Errorf("%s of pod %s still runs", process, pod)
			}
		}
		return nil
	})
}

// startWorkload starts a killed workload, and waits until all its pods are ready.
func (l *Lab) startWorkload(ctx context.Context, w workload) error {
	if err := l.scale(ctx, w, replicas); err != nil {
		return err
	}
	return l.waitWorkload(ctx, w)
}

func (l *Lab) scale(ctx context.Context, w workload, replicas int32) error {
	kube, err := l.client(w.cluster)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err = kube.AppsV1().Deployments(names.SystemNamespace).Patch(ctx, w.deployment, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("scaling %s: %w", w, err)
	}
	return nil
}

// reviveWorkloads starts killed workloads.
func (l *Lab) reviveWorkloads(ctx context.Context, p *progress) error {
	for _, c := range l.Spec.Clusters {
		for _, w := range l.workloads(c.Name) {
			d, err := l.deployment(ctx, w)
			if err != nil {
				return err
			}
			if ptr.Deref(d.Spec.Replicas, 1) > 0 {
				continue
			}
			p.say("starting %s again", w)
			if err := l.startWorkload(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Lab) deployment(ctx context.Context, w workload) (*appsv1.Deployment, error) {
	kube, err := l.client(w.cluster)
	if err != nil {
		return nil, err
	}
	d, err := kube.AppsV1().Deployments(names.SystemNamespace).Get(ctx, w.deployment, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Deployment of %s: %w", w, err)
	}
	return d, nil
}

func (l *Lab) waitWorkload(ctx context.Context, w workload) error {
	kube, err := l.client(w.cluster)
	if err != nil {
		return err
	}
	units := append(named(w.cluster, unitControllerManager, unitScheduler), l.podUnits(w.cluster)...)
	err = l.wait(ctx, w.String(), units, func(ctx context.Context) error {
		d, err := l.deployment(ctx, w)
		if err != nil {
			return err
		}
		wanted := ptr.Deref(d.Spec.Replicas, 1)
		if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas != wanted || s.ReadyReplicas != wanted {
			return fmt.Errorf("%d of %d pods are ready", s.ReadyReplicas, wanted)
		}
		return nil
	})
	if err != nil {
		return withPods(ctx, kube, names.SystemNamespace, render.LabelName+"="+w.deployment, err)
	}
	return nil
}

// WorkloadStatus is the number of pods of a part of Atoll.
type WorkloadStatus struct {
	// Target is CLUSTER/UNIT, to kill and start the part.
	Target string
	// Wanted is the desired number of pods, 0 if killed; Ready is the number of ready pods.
	Wanted, Ready int32
	// Err says why the numbers are unknown.
	Err error
}

// Workloads returns the status of Atoll's parts that run in pods, by cluster.
func (l *Lab) Workloads(ctx context.Context) []WorkloadStatus {
	var all []WorkloadStatus
	for _, c := range l.Spec.Clusters {
		for _, w := range l.workloads(c.Name) {
			s := WorkloadStatus{Target: w.String()}
			ask, cancel := context.WithTimeout(ctx, time.Second)
			d, err := l.deployment(ask, w)
			cancel()
			if err == nil {
				s.Wanted, s.Ready = ptr.Deref(d.Spec.Replicas, 1), d.Status.ReadyReplicas
			}
			s.Err = err
			all = append(all, s)
		}
	}
	return all
}

// PodLogs writes the logs of a part of Atoll that runs in pods, with pod names; with follow, until ctx is done. It
// returns false if target (CLUSTER/UNIT) is not such a part.
func (l *Lab) PodLogs(ctx context.Context, target string, follow bool, out, problems io.Writer) (bool, error) {
	w, ok := l.workload(target)
	if !ok {
		return false, nil
	}
	cmd := exec.CommandContext(ctx, filepath.Join(l.Spec.Programs, "kubectl"), "--kubeconfig="+l.Kubeconfig(), "--context="+w.cluster,
		"--namespace="+names.SystemNamespace, "logs", "--selector="+render.LabelName+"="+w.deployment,
		"--prefix", "--tail=-1", fmt.Sprintf("--follow=%t", follow))
	cmd.Stdout, cmd.Stderr = out, problems
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return true, fmt.Errorf("reading the logs of %s: %w", w, err)
	}
	return true, nil
}
