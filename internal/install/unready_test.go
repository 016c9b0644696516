package install

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnready(t *testing.T) {
	condition := func(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, message string) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: kind, Status: status, Message: message}
	}
	pod := func(status corev1.PodStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: status}
	}
	container := func(state corev1.ContainerState, last corev1.ContainerState) corev1.Pod {
		return pod(corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "agent", State: state, LastTerminationState: last}}})
	}
	for name, tt := range map[string]struct {
		conditions []appsv1.DeploymentCondition
		pods       []corev1.Pod
		want       string
	}{
		"nothing is known": {nil, []corev1.Pod{pod(corev1.PodStatus{})}, ""},
		"a quota": {[]appsv1.DeploymentCondition{
			condition(appsv1.DeploymentProgressing, "True", "made"),
			condition(appsv1.DeploymentReplicaFailure, "True", `pods "a" is forbidden: failed quota: q: must specify limits.cpu`),
		}, nil, `Kubernetes cannot create pods: pods "a" is forbidden: failed quota: q: must specify limits.cpu`},
		"a quota that no longer applies": {[]appsv1.DeploymentCondition{condition(appsv1.DeploymentReplicaFailure, "False", "x")}, nil, ""},
		"no progress":                    {[]appsv1.DeploymentCondition{condition(appsv1.DeploymentProgressing, "False", "timed out")}, nil, "timed out"},
		"no node": {nil, []corev1.Pod{pod(corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: "False", Message: "0/1 nodes"},
		}})}, "p: 0/1 nodes"},
		"no image": {nil, []corev1.Pod{container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "denied"}}, corev1.ContainerState{})}, "p: ErrImagePull denied"},
		"no image for two pods": {nil, []corev1.Pod{
			container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "denied"}}, corev1.ContainerState{}),
			container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "denied"}}, corev1.ContainerState{}),
		}, "p, p: ErrImagePull denied"},
		"out of memory": {nil, []corev1.Pod{container(
			corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
		)}, "p: CrashLoopBackOff, last exit status 137 OOMKilled"},
		"not ready yet": {nil, []corev1.Pod{container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{})}, "p: container agent runs but is not ready"},
		"evicted":       {nil, []corev1.Pod{pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk"})}, "p: Evicted disk"},
		"ready": {nil, []corev1.Pod{pod(corev1.PodStatus{
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: "True"}},
			ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "x"}}}},
		})}, ""},
	} {
		d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: tt.conditions}}
		if got := strings.Join(Unready(d, tt.pods), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
