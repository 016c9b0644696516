package podrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// statusWriter writes a Pod's status, the newest that it is given, whenever the
// API has another, and deletes the Pod when told to. It is the only writer.
type statusWriter struct {
	worker *worker
	wake   chan struct{}
	end    chan struct{} // closed when there is nothing more to write

	mu     sync.Mutex
	pod    *corev1.Pod // as the API has it, as far as is known
	want   *corev1.PodStatus
	delete bool
}

func newStatusWriter(w *worker) *statusWriter {
	return &statusWriter{worker: w, wake: make(chan struct{}, 1), end: make(chan struct{})}
}

// set hands over the status that pod should have. With thenDelete the Pod is
// deleted once the status is written.
func (s *statusWriter) set(pod *corev1.Pod, want *corev1.PodStatus, thenDelete bool) {
	s.mu.Lock()
	if s.pod == nil || newer(pod, s.pod) {
		s.pod = pod
	}
	s.want, s.delete = want, s.delete || thenDelete
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// newer compares resource versions, which are comparable since KEP-5504.
func newer(a, b *corev1.Pod) bool {
	x, errX := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, errY := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errX != nil || errY != nil || x > y
}

// run writes until ctx is done, the Pod is gone or end is closed; what it is
// writing then it finishes.
func (s *statusWriter) run(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-s.end:
			return
		case <-ctx.Done():
			return
		}
		gone, err := s.write(ctx)
		if gone || ctx.Err() != nil {
			return
		}
		if err != nil {
			s.worker.log.Warn("writing status", "error", err)
			time.AfterFunc(time.Second, func() {
				select {
				case s.wake <- struct{}{}:
				default:
				}
			})
		}
	}
}

func (s *statusWriter) write(ctx context.Context) (gone bool, err error) {
	s.mu.Lock()
	pod, want, thenDelete := s.pod, s.want, s.delete
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pods := s.worker.runner.client.CoreV1().Pods(pod.Namespace)
	if want != nil {
		patch, err := statusPatch(pod, want)
		if err != nil {
			return false, err
		}
		if patch != nil {
			written, err := pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another Pod has the name
				return true, nil
			}
			if err != nil {
				return false, err
			}
			s.mu.Lock()
			if newer(written, s.pod) {
				s.pod = written
			}
			s.mu.Unlock()
		}
	}
	if !thenDelete {
		return false, nil
	}
	err = pods.Delete(ctx, pod.Name, deleteNow(pod.UID))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true, nil
	}
	return false, err
}

// ownConditions are those that a kubelet writes; all others are left as they are.
var ownConditions = []corev1.PodConditionType{
	corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
}

// statusPatch returns what makes pod's status the wanted one, nil where it is.
// It applies to this very Pod only, not to another of its name.
func statusPatch(pod *corev1.Pod, want *corev1.PodStatus) ([]byte, error) {
	status := want.DeepCopy()
	status.Conditions = nil
	for _, have := range pod.Status.Conditions { // in the order that is there
		i := slices.IndexFunc(want.Conditions, func(c corev1.PodCondition) bool { return c.Type == have.Type })
		if i >= 0 && slices.Contains(ownConditions, have.Type) {
			have = want.Conditions[i]
		}
		status.Conditions = append(status.Conditions, have)
	}
	for _, c := range want.Conditions {
		present := slices.ContainsFunc(status.Conditions, func(have corev1.PodCondition) bool { return have.Type == c.Type })
		if !present && slices.Contains(ownConditions, c.Type) {
			status.Conditions = append(status.Conditions, c)
		}
	}
	// What others decide.
	status.QOSClass, status.NominatedNodeName = pod.Status.QOSClass, pod.Status.NominatedNodeName
	status.Resize, status.ResourceClaimStatuses = pod.Status.Resize, pod.Status.ResourceClaimStatuses
	from, err := json.Marshal(&corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	to, err := json.Marshal(&corev1.Pod{Status: *status})
	if err != nil {
		return nil, err
	}
	if bytes.Equal(from, to) {
		return nil, nil
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, &corev1.Pod{})
	if err != nil || bytes.Equal(patch, []byte("{}")) {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	fields["metadata"] = map[string]any{"uid": pod.UID}
	return json.Marshal(fields)
}

// deleteNow removes a Pod whose processes have ended.
func deleteNow(uid types.UID) metav1.DeleteOptions {
	grace := int64(0)
	return metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &uid}}
}
