package podrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
)

const (
	kubeletPort = 10250
	// leaseSeconds and heartbeat are the kubelet's defaults.
	leaseSeconds = 40
	heartbeat    = 5 * time.Minute
	maxPods      = 250
)

// nodeKeeper registers a node and keeps its object and Lease current.
type nodeKeeper struct {
	runner *runner
	node   Node
}

// run keeps the node registered until ctx is done: it puts it right whenever
// somebody else changes or deletes it, such as the controller that marks the
// nodes of silent kubelets.
func (k *nodeKeeper) run(ctx context.Context) {
	wake := newMailbox()
	wake.post(nil)
	factory := informers.NewSharedInformerFactoryWithOptions(k.runner.client, 0, informers.WithTransform(withoutManagedFields),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, k.node.Name).String()
		}))
	nodes := factory.Core().V1().Nodes()
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { wake.post(nil) },
		UpdateFunc: func(any, any) { wake.post(nil) },
		DeleteFunc: func(any) { wake.post(nil) },
	})
	if err != nil {
		k.runner.log.Error("watching node", "node", k.node.Name, "error", err)
		return
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	leased := false
	next := time.NewTimer(heartbeat)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake.wake:
		case <-next.C:
		}
		have, _ := nodes.Lister().Get(k.node.Name) // nil when there is none
		wait := heartbeat
		if err := k.ensure(ctx, have); err != nil {
			if ctx.Err() == nil {
				k.runner.log.Warn("registering node", "node", k.node.Name, "error", err)
			}
			wait = time.Second
		} else if !leased {
			leased = true
			go k.keepLease(ctx)
		}
		next.Reset(wait)
	}
}

// ensure creates the node or puts its labels and status right.
func (k *nodeKeeper) ensure(ctx context.Context, have *corev1.Node) error {
	nodes := k.runner.client.CoreV1().Nodes()
	if have == nil {
		created, err := nodes.Create(ctx, k.desired(&corev1.Node{}), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			created, err = nodes.Get(ctx, k.node.Name, metav1.GetOptions{})
		}
		if err != nil {
			return err
		}
		have = created
	}
	want := k.desired(have)
	if !equality.Semantic.DeepEqual(have.Labels, want.Labels) || len(have.Spec.PodCIDRs) == 0 {
		patch, err := mergePatch(
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: have.Labels}, Spec: have.Spec},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: want.Labels}, Spec: want.Spec})
		if err != nil {
			return err
		}
		if have, err = nodes.Patch(ctx, k.node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	patch, err := mergePatch(&corev1.Node{Status: have.Status}, &corev1.Node{Status: want.Status})
	if err != nil || bytes.Equal(patch, []byte("{}")) {
		return err
	}
	_, err = nodes.PatchStatus(ctx, k.node.Name, patch)
	return err
}

func mergePatch(from, to *corev1.Node) ([]byte, error) {
	a, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(a, b, &corev1.Node{})
}

// desired returns the node as it should be, where have is what there is.
func (k *nodeKeeper) desired(have *corev1.Node) *corev1.Node {
	n := have.DeepCopy()
	n.Name = k.node.Name
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	for key, value := range map[string]string{
		corev1.LabelHostname: k.node.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
		corev1.LabelTopologyZone: k.node.Zone, corev1.LabelTopologyRegion: k.node.Region,
	} {
		if value != "" {
			n.Labels[key] = value
		}
	}
	if len(n.Spec.PodCIDRs) == 0 { // they cannot be changed
		for _, r := range k.node.PodCIDRs {
			n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, r.String())
		}
		n.Spec.PodCIDR = n.Spec.PodCIDRs[0]
	}
	k.setStatus(&n.Status)
	return n
}

func (k *nodeKeeper) setStatus(s *corev1.NodeStatus) {
	s.Addresses = nil
	for _, a := range k.node.Addresses {
		s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: k.node.Name})
	s.Capacity = capacity()
	s.Allocatable = capacity()
	s.DaemonEndpoints.KubeletEndpoint.Port = kubeletPort
	s.NodeInfo = k.runner.nodeInfo
	now := metav1.Now()
	for _, c := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "NotWatched"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "NotWatched"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "NotWatched"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "PodRunnerReady", Message: "the pod runner is running"},
	} {
		setNodeCondition(s, c, now)
	}
}

// setNodeCondition keeps a heartbeat that is recent enough, so that nothing is
// written that says nothing.
func setNodeCondition(s *corev1.NodeStatus, c corev1.NodeCondition, now metav1.Time) {
	c.LastHeartbeatTime, c.LastTransitionTime = now, now
	for i, have := range s.Conditions {
		if have.Type != c.Type {
			continue
		}
		if have.Status == c.Status {
			c.LastTransitionTime = have.LastTransitionTime
			if have.Reason == c.Reason && now.Sub(have.LastHeartbeatTime.Time) < heartbeat {
				c.LastHeartbeatTime = have.LastHeartbeatTime
			}
		}
		s.Conditions[i] = c
		return
	}
	s.Conditions = append(s.Conditions, c)
}

// keepLease renews the node's Lease, by which the cluster knows that it lives.
func (k *nodeKeeper) keepLease(ctx context.Context) {
	setOwner := func(l *coordinationv1.Lease) error {
		node, err := k.runner.client.CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
		return nil
	}
	lease.NewController(clock.RealClock{}, k.runner.client, k.node.Name, leaseSeconds, nil,
		leaseSeconds*time.Second/4, k.node.Name, corev1.NamespaceNodeLease, setOwner).Run(ctx)
}

// capacity is the whole machine's, for every node: nothing is limited.
func capacity() corev1.ResourceList {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(info.Totalram)*int64(info.Unit), resource.BinarySI),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             *resource.NewQuantity(maxPods, resource.DecimalSI),
	}
}

// nodeInfo describes the machine; the version is the API server's.
func nodeInfo(client kubernetes.Interface) corev1.NodeSystemInfo {
	info := corev1.NodeSystemInfo{
		OperatingSystem: "linux", Architecture: runtime.GOARCH, OSImage: osImage(),
		ContainerRuntimeVersion: "atoll-podrunner://1", KubeletVersion: "v0.0.0",
	}
	if id, err := os.ReadFile("/etc/machine-id"); err == nil {
		info.MachineID = strings.TrimSpace(string(id))
	}
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		info.BootID = strings.TrimSpace(string(id))
	}
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		info.KernelVersion = unix.ByteSliceToString(uts.Release[:])
	}
	if v, err := client.Discovery().ServerVersion(); err == nil {
		info.KubeletVersion = v.GitVersion
	}
	return info
}

func osImage() string {
	text, _ := os.ReadFile("/etc/os-release")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return "Linux"
}

// String names the node in errors.
func (n Node) String() string { return fmt.Sprintf("node %s", n.Name) }
