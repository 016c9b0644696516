package podrunner

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podspec"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podstatus"
)

const (
	// shutdownGrace is how long containers have to end when the runner itself
	// is told to.
	shutdownGrace = 2 * time.Second
	// retryTime is after how long something that failed is tried again, unless
	// something changes before.
	retryTime = 5 * time.Second
)

// worker runs one Pod. Whatever happens wakes its goroutine, which then compares
// what there is with what should be (see sync); the fields below mail belong to
// that goroutine alone.
type worker struct {
	runner          *runner
	node            Node
	pool            *addresses
	namespace, name string
	uid             types.UID
	created         time.Time
	dir             string
	log             *slog.Logger
	reference       *corev1.ObjectReference // the Pod, for events
	view            atomic.Pointer[view]
	mail            *mailbox

	pod         *corev1.Pod
	deleted     bool // the API no longer has the Pod
	adopted     bool // terminal already when this runner began
	containers  []*managed
	initialized bool
	sandbox     *sandbox
	volumes     *volumes
	status      corev1.PodStatus
	facts       podstatus.Facts
	writer      *statusWriter
	killAt      time.Time // when everything in the Pod is killed; zero until it is to end
	problem     string    // what was last reported as hindering the Pod
}

// view is what the kubelet's API serves of a Pod.
type view struct {
	pod        *corev1.Pod
	sandbox    network.Namespace
	containers map[string]containerView
}

func newWorker(r *runner, node Node, pool *addresses, pod *corev1.Pod) *worker {
	w := &worker{
		runner: r, node: node, pool: pool, namespace: pod.Namespace, name: pod.Name, uid: pod.UID,
		created: pod.CreationTimestamp.Time, dir: filepath.Join(r.cfg.podsDir(), string(pod.UID)),
		log: r.log.With("namespace", pod.Namespace, "pod", pod.Name), mail: newMailbox(), pod: pod,
		status: *pod.Status.DeepCopy(),
	}
	w.reference = &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}
	w.writer = newStatusWriter(w)
	w.volumes = newVolumes(w)
	w.facts.HostIPs = addressStrings(node.Addresses)
	w.facts.StartTime = metav1.Now()
	if pod.Status.StartTime != nil {
		w.facts.StartTime = *pod.Status.StartTime
	}
	w.adopt()
	return w
}

// adopt takes over what another runner has written about the Pod.
func (w *worker) adopt() {
	containers := podstatus.All(w.pod)
	podstatus.Adopt(containers, &w.pod.Status, time.Now())
	for i := range containers {
		w.containers = append(w.containers, &managed{Container: containers[i]})
	}
	w.initialized = w.next().Initialized // when there is nothing to initialise
	phase := w.pod.Status.Phase
	w.adopted = phase == corev1.PodSucceeded || phase == corev1.PodFailed
	for _, ip := range w.pod.Status.PodIPs {
		w.facts.PodIPs = append(w.facts.PodIPs, ip.IP)
	}
}

// run works until the Pod is gone, or until ctx is done, when it ends the Pod's
// processes but leaves the API's object for another runner.
func (w *worker) run(ctx context.Context) {
	go w.writer.run(ctx)
	defer close(w.writer.end)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.mail.wake:
		case <-timer.C:
		case <-ctx.Done():
			w.shutDown()
			return
		}
		w.mail.run()
		w.addEphemeral()
		wake, gone := w.sync(ctx)
		w.publish()
		if gone {
			w.runner.removeLogs(w.uid)
			return
		}
		timer.Stop()
		if !wake.IsZero() {
			timer.Reset(max(time.Until(wake), 0))
		}
	}
}

// sync does what is to be done now. It returns when to look again even if
// nothing happens, and whether the Pod is gone and cleared away.
func (w *worker) sync(ctx context.Context) (wake time.Time, gone bool) {
	switch {
	case w.deleted:
		w.end(0)
		if w.running() {
			return wake, false
		}
		w.clear()
		return wake, true
	case w.adopted:
		if w.pod.DeletionTimestamp != nil {
			w.writer.set(w.pod, nil, true)
		}
		return wake, false
	case w.pod.DeletionTimestamp != nil:
		grace := int64(0)
		if w.pod.DeletionGracePeriodSeconds != nil {
			grace = *w.pod.DeletionGracePeriodSeconds
		}
		w.finish(time.Duration(grace) * time.Second)
		return wake, false
	case w.facts.FailReason != "":
		w.finish(w.grace())
		return wake, false
	}
	if wake = w.deadline(); !wake.IsZero() && !time.Now().Before(wake) {
		w.facts.FailReason = "DeadlineExceeded"
		w.facts.FailMessage = "Pod was active on the node longer than the specified deadline"
		w.finish(w.grace())
		return time.Time{}, false
	}
	retry := w.advance(ctx)
	w.report(false)
	return earliest(wake, retry), false
}

// advance brings the Pod one step on. It returns when to look again.
func (w *worker) advance(ctx context.Context) time.Time {
	step := w.next()
	if step.Finished {
		w.initialized = w.initialized || step.Initialized
		w.clear()
		return time.Time{}
	}
	refresh, err := w.prepare(ctx)
	if err != nil {
		w.warn(err)
		return time.Now().Add(retryTime)
	}
	w.initialized = step.Initialized
	for _, i := range step.Stop {
		w.containers[i].stop(w.grace())
	}
	wake := refresh
	for _, i := range step.Start {
		w.start(ctx, w.containers[i])
		wake = earliest(wake, w.containers[i].NotBefore)
	}
	for _, i := range step.Delay {
		c := w.containers[i]
		w.holdBack(c)
		wake = earliest(wake, c.NotBefore)
	}
	return wake
}

func (w *worker) next() podstatus.Step {
	return podstatus.Next(w.snapshot(), w.initialized, time.Now())
}

func (w *worker) snapshot() []podstatus.Container {
	all := make([]podstatus.Container, len(w.containers))
	for i, c := range w.containers {
		all[i] = c.Container
	}
	return all
}

// prepare makes what the containers share: folders, network and volumes. It
// returns when the volumes want to be looked at again.
func (w *worker) prepare(ctx context.Context) (time.Time, error) {
	if w.sandbox == nil {
		if err := w.makeSandbox(); err != nil {
			return time.Time{}, err
		}
		w.facts.NetworkReady, w.facts.PodIPs = true, w.sandbox.ips
		w.report(false)
	}
	refresh, err := w.volumes.update(ctx)
	if err != nil {
		return time.Time{}, err
	}
	w.problem = ""
	return refresh, nil
}

func (w *worker) makeSandbox() error {
	if err := w.writeNameFiles(); err != nil {
		return err
	}
	if w.pod.Spec.HostNetwork {
		w.sandbox = hostSandbox(w.node)
	} else {
		short := string(w.uid)[:8]
		s, err := newSandbox(network.Namespace(w.runner.cfg.podNamespacePrefix()+short), "pod"+short, w.node, w.pool)
		if err != nil {
			return err
		}
		w.sandbox = s
	}
	return w.writeHosts()
}

// addEphemeral takes up containers that were added to the running Pod.
func (w *worker) addEphemeral() {
	have := w.snapshot()
	for _, c := range podstatus.WithEphemeral(have, w.pod)[len(have):] {
		w.containers = append(w.containers, &managed{Container: c})
	}
}

// hostname is the containers' host name and, where the Pod has one, the name by
// which the cluster's DNS knows it.
func (w *worker) hostname() (hostname, fqdn string) {
	if w.pod.Spec.HostNetwork {
		return w.node.Name, ""
	}
	return podspec.Hostname(w.pod, w.runner.cfg.ClusterDomain)
}

func (w *worker) place() podspec.Place {
	return podspec.Place{PodIPs: w.facts.PodIPs, HostIPs: w.facts.HostIPs, Allocatable: capacity()}
}

// earliest returns the earlier of two times, of which zero ones do not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
