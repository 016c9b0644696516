package podrunner

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
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
		return wake, w.finish(time.Duration(grace) * time.Second)
	case w.facts.FailReason != "":
		return wake, w.finish(w.grace())
	}
	if wake = w.deadline(); !wake.IsZero() && !time.Now().Before(wake) {
		w.facts.FailReason = "DeadlineExceeded"
		w.facts.FailMessage = "Pod was active on the node longer than the specified deadline"
		return time.Time{}, w.finish(w.grace())
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

// finish ends the Pod within grace, then reports its end, and deletes it if that
// was asked for.
func (w *worker) finish(grace time.Duration) (gone bool) {
	w.end(grace)
	if w.running() {
		w.report(false)
		return false
	}
	w.facts.Ended = true
	w.clear()
	w.report(w.pod.DeletionTimestamp != nil)
	return false // the API says when it is
}

// end makes all containers end within grace: the main ones first, then those
// that accompany them. A shorter grace replaces a longer one.
func (w *worker) end(grace time.Duration) {
	if w.killAt.IsZero() {
		for _, c := range w.containers {
			if c.run != nil {
				w.event(corev1.EventTypeNormal, "Killing", "Stopping container %s", c.Name)
			}
		}
	}
	if at := time.Now().Add(grace); w.killAt.IsZero() || at.Before(w.killAt) {
		w.killAt = at
	}
	rest := max(time.Until(w.killAt), 0)
	if grace == 0 {
		rest = 0
	}
	others := false
	for _, c := range w.containers {
		if c.Kind != podstatus.Sidecar && c.run != nil {
			others = true
			c.stop(rest)
		}
	}
	for _, c := range slices.Backward(w.containers) {
		if c.Kind == podstatus.Sidecar && c.run != nil && (!others || rest == 0) {
			c.stop(rest)
		}
	}
}

func (w *worker) running() bool {
	return slices.ContainsFunc(w.containers, func(c *managed) bool { return c.run != nil })
}

func (w *worker) grace() time.Duration {
	if s := w.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// deadline is when the Pod is active for too long; zero means never.
func (w *worker) deadline() time.Time {
	if s := w.pod.Spec.ActiveDeadlineSeconds; s != nil {
		return w.facts.StartTime.Add(time.Duration(*s) * time.Second)
	}
	return time.Time{}
}

// shutDown ends the Pod's processes quickly, without a word to the API.
func (w *worker) shutDown() {
	for {
		w.mail.run()
		w.end(shutdownGrace)
		if !w.running() {
			break
		}
		<-w.mail.wake
	}
	w.clear()
}

// clear removes what was made on the host, but the logs.
func (w *worker) clear() {
	w.facts.NetworkReady = false
	var err error
	if w.sandbox != nil {
		err = w.sandbox.release()
		w.sandbox = nil
	}
	if err := errors.Join(err, removeTree(w.dir)); err != nil {
		w.log.Warn("clearing away", "error", err)
	}
}

// report hands the status over for writing.
func (w *worker) report(thenDelete bool) {
	w.facts.Initialized = w.initialized
	old := w.status
	old.Conditions = foreignFrom(w.pod.Status.Conditions, w.status.Conditions)
	w.status = podstatus.Status(w.pod, &old, w.snapshot(), w.facts, metav1.Now())
	status := w.status
	w.writer.set(w.pod, &status, thenDelete)
}

// foreignFrom takes a runner's own conditions from own, all others from api.
func foreignFrom(api, own []corev1.PodCondition) []corev1.PodCondition {
	isOwn := func(c corev1.PodCondition) bool { return slices.Contains(ownConditions, c.Type) }
	foreign := slices.DeleteFunc(slices.Clone(api), isOwn)
	return append(foreign, slices.DeleteFunc(slices.Clone(own), func(c corev1.PodCondition) bool { return !isOwn(c) })...)
}

// publish lets the kubelet's API see the Pod.
func (w *worker) publish() {
	v := &view{pod: w.pod, containers: map[string]containerView{}}
	if w.sandbox != nil {
		v.sandbox = w.sandbox.namespace
	}
	for _, c := range w.containers {
		v.containers[c.Name] = c.view(w)
	}
	w.view.Store(v)
}

// addEphemeral takes up containers that were added to the running Pod.
func (w *worker) addEphemeral() {
	have := w.snapshot()
	for _, c := range podstatus.WithEphemeral(have, w.pod)[len(have):] {
		w.containers = append(w.containers, &managed{Container: c})
	}
}

// warn reports what hinders the Pod, once.
func (w *worker) warn(err error) {
	if w.problem == err.Error() {
		return
	}
	w.problem = err.Error()
	reason := "FailedMount"
	if w.sandbox == nil {
		reason = "FailedCreatePodSandBox"
	}
	w.event(corev1.EventTypeWarning, reason, "%v", err)
	w.log.Warn("preparing pod", "reason", reason, "error", err)
}

func (w *worker) event(kind, reason, format string, args ...any) {
	w.runner.recorder.Eventf(w.reference, kind, reason, format, args...)
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
