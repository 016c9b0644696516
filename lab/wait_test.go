package lab

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestWithPods(t *testing.T) {
	labels := map[string]string{"app": "web"}
	client := fake.NewClientset(
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", Labels: labels}, Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}},
		}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", Labels: labels}, Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "pulls", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}},
				{Name: "runs", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
				{
					Name: "ends", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}},
				},
			},
		}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "ns"}, Status: corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}},
		}},
	)
	cause := errors.New("0 of 2 pods are ready")
	err := withPods(t.Context(), client, "ns", "app=web", cause)
	want := `0 of 2 pods are ready
  pod a: the pod is not scheduled to a node: Unschedulable 0/1 nodes are available
  pod b: container pulls is waiting: ImagePullBackOff no such image
  pod b: container ends is waiting: CrashLoopBackOff
  pod b: container ends ended with exit status 2: Error`
	if !errors.Is(err, cause) || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}
