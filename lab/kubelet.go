package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/atoll-mcs/atoll/lab/cgroup"
	"github.com/atoll-mcs/atoll/lab/network"
)

// Units of a node, with suffix -n and the node's number.
const (
	unitContainerd = "containerd"
	unitKubelet    = "kubelet"
)

const (
	kubeletPort = 10250
	// pauseImage holds a pod's namespaces.
	pauseImage = "registry.k8s.io/pause:3.10"
	// cniPlugins is the folder of Debian's package containernetworking-plugins.
	cniPlugins = "/usr/lib/cni"
)

func (l *Lab) nodeDir(c *Cluster, n *Node) string {
	return filepath.Join(l.Dir(c.Name), "nodes", n.Name)
}

func (l *Lab) containerdSocket(c *Cluster, n *Node) string {
	return filepath.Join(l.nodeDir(c, n), "containerd.sock")
}

// cgroupRoot is the control group of a node's pods.
func (l *Lab) cgroupRoot(n *Node) string { return "/" + string(n.Namespace) }

// podUnits are the units that run a cluster's pods.
func (l *Lab) podUnits(cluster string) []Unit {
	var units []Unit
	for number := 1; number <= l.Spec.Nodes; number++ {
		units = append(units, named(cluster, onNode(unitContainerd, number), onNode(unitKubelet, number))...)
	}
	return units
}

func (l *Lab) startKubelets(ctx context.Context, c *Cluster) error {
	if err := l.registerNodes(ctx, c); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range c.Nodes {
		group.Go(func() error { return l.startKubelet(ctx, c, &c.Nodes[i], i+1) })
	}
	return group.Wait()
}

func (l *Lab) startKubelet(ctx context.Context, c *Cluster, n *Node, number int) error {
	if err := cgroup.Make(l.cgroupRoot(n)); err != nil {
		return err
	}
	config, err := l.kubeconfig(c, c.APIServer, "system:node:"+n.Name, []string{"system:nodes"})
	if err != nil {
		return err
	}
	if err := writeKubeconfig(filepath.Join(l.nodeDir(c, n), "kubeconfig"), config); err != nil {
		return err
	}
	runtime := l.containerd(c, n, number)
	if err := l.Run(ctx, runtime); err != nil {
		return err
	}
	if err := l.waitProbe(ctx, runtime); err != nil {
		return err
	}
	return l.Run(ctx, l.kubelet(c, n, number))
}

// registerNodes creates the Nodes with their pod ranges, which kubelets do not know.
func (l *Lab) registerNodes(ctx context.Context, c *Cluster) error {
	client, err := l.client(c.Name)
	if err != nil {
		return err
	}
	for _, n := range c.Nodes {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: map[string]string{corev1.LabelTopologyRegion: n.Region, corev1.LabelTopologyZone: n.Zone}},
			Spec:       corev1.NodeSpec{PodCIDR: n.PodCIDRs[0].String(), PodCIDRs: texts(n.PodCIDRs)},
		}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("registering node %s: %w", n.Name, err)
		}
	}
	return nil
}

// containerd is a node's container runtime. It pulls images from the lab's registry first, and others from their own.
func (l *Lab) containerd(c *Cluster, n *Node, number int) Unit {
	dir := l.nodeDir(c, n)
	name := onNode(unitContainerd, number)
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	config := strings.Join([]string{
		"version = 2",
		fmt.Sprintf("root = %q", filepath.Join(dir, "containerd", "root")),
		fmt.Sprintf("state = %q", filepath.Join(dir, "containerd", "state")),
		`disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing"]`,
		"[grpc]", fmt.Sprintf("address = %q", l.containerdSocket(c, n)),
		"[debug]", `level = "warn"`,
		"[" + cri + "]", fmt.Sprintf("sandbox_image = %q", pauseImage),
		// Lowering a process's OOM score needs CAP_SYS_RESOURCE.
		"restrict_oom_score_adj = true", "disable_apparmor = true",
		// Clean-up searches there.
		"netns_mounts_under_state_dir = true",
		"[" + cri + ".cni]", fmt.Sprintf("bin_dir = %q", cniPlugins), fmt.Sprintf("conf_dir = %q", filepath.Join(dir, "cni")),
		"[" + cri + ".registry]", fmt.Sprintf("config_path = %q", l.registries()),
		"[" + cri + ".containerd]", `snapshotter = "overlayfs"`, `default_runtime_name = "runc"`,
		"[" + cri + ".containerd.runtimes.runc]", `runtime_type = "io.containerd.runc.v2"`,
		"[" + cri + ".containerd.runtimes.runc.options]", fmt.Sprintf("Root = %q", filepath.Join(dir, "containerd", "runc")),
		"",
	}, "\n")
	u := l.unit(c, name, l.containerdSocket(c, n), "")
	u.Argv = []string{"containerd", "--config", filepath.Join(l.Dir(c.Name), name+".toml")}
	u.Namespace, u.Probe = n.Namespace, "unix://"+l.containerdSocket(c, n)
	u.Env = append(u.Env, fmt.Sprintf("HTTPS_PROXY=http://127.0.0.1:%d", registryPort))
	u.Files = map[string]string{name + ".toml": config, filepath.Join("nodes", n.Name, "cni", "10-lab.conflist"): l.cni(c, n)}
	return u
}

// cni connects each pod by a link to its node, with an address of each of the node's ranges.
func (l *Lab) cni(c *Cluster, n *Node) string {
	var ranges [][]map[string]string
	var routes []map[string]string
	for _, r := range n.PodCIDRs {
		ranges = append(ranges, []map[string]string{{"subnet": r.String()}})
		everywhere, _ := r.Addr().Prefix(0)
		routes = append(routes, map[string]string{"dst": everywhere.String()})
	}
	return text(map[string]any{"cniVersion": "1.0.0", "name": "lab", "plugins": []any{map[string]any{
		"type": "ptp", "ipMasq": false,
		"ipam": map[string]any{"type": "host-local", "dataDir": filepath.Join(l.nodeDir(c, n), "addresses"), "ranges": ranges, "routes": routes},
	}}})
}

func (l *Lab) kubelet(c *Cluster, n *Node, number int) Unit {
	dir := l.nodeDir(c, n)
	address := net.JoinHostPort(n.Addresses[0].String(), fmt.Sprint(kubeletPort))
	name := onNode(unitKubelet, number)
	config := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": n.Addresses[0].String(), "port": kubeletPort,
		"tlsCertFile": l.pki(c, "kubelet.crt"), "tlsPrivateKeyFile": l.pki(c, "kubelet.key"),
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true},
			"x509": map[string]any{"clientCAFile": l.pki(c, "ca.crt")},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + l.containerdSocket(c, n),
		"clusterDomain":            clusterDomain, "clusterDNS": texts(c.DNS), "resolvConf": filepath.Join(l.Dir(c.Name), name+".resolv.conf"),
		// Settings for several kubelets on one machine, which share its disk and memory with other programs.
		"cgroupDriver": "cgroupfs", "cgroupRoot": l.cgroupRoot(n), "failCgroupV1": false,
		"enforceNodeAllocatable": []string{}, "failSwapOn": false, "localStorageCapacityIsolation": false, "oomScoreAdj": 0,
		"evictionHard":                map[string]string{"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "pid.available": "0%"},
		"imageGCHighThresholdPercent": 100, "volumePluginDir": filepath.Join(dir, "volume-plugins"), "podLogsDir": filepath.Join(dir, "logs"),
		"makeIPTablesUtilChains": false, "volumeStatsAggPeriod": "-1s", "maxPods": 250,
		// Fast settings: tests create hundreds of pods at once, and wait for ConfigMap changes.
		"kubeAPIQPS": 500, "kubeAPIBurst": 1000, "serializeImagePulls": false, "registryPullQPS": 0, "syncFrequency": "2s",
		"configMapAndSecretChangeDetectionStrategy": "Watch",
	}
	u := l.unit(c, name, address, unitKubelet,
		"--config="+filepath.Join(l.Dir(c.Name), name+".json"),
		"--kubeconfig="+filepath.Join(dir, "kubeconfig"),
		"--hostname-override="+n.Name,
		"--node-ip="+join(n.Addresses),
		"--root-dir="+filepath.Join(dir, "kubelet"),
		"--cert-dir="+filepath.Join(dir, "kubelet", "pki"),
		"--housekeeping-interval=5m", // labs use no container metrics
	)
	u.Namespace, u.Probe = n.Namespace, "tcp://"+address
	// Nodes use only the cluster's DNS server, not the machine's.
	u.Files = map[string]string{name + ".json": text(config), name + ".resolv.conf": ""}
	return u
}

// text formats a value as JSON.
func text(value any) string {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // cannot fail for maps, lists and texts
	}
	return string(data) + "\n"
}

// removeTraces removes files of container runtimes and kubelets outside of the lab's folder, at fixed paths.
func (l *Lab) removeTraces() error {
	var failed error
	remove := func(path string) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("removing the leftovers of a node: %w", err))
		}
	}
	mine := l.dir + string(filepath.Separator)
	// Sockets of shims; containers' folders have their names.
	addresses, _ := filepath.Glob(filepath.Join(l.dir, "*", "nodes", "*", "containerd", "state", "io.containerd.runtime.v2.task", "k8s.io", "*", "address"))
	for _, file := range addresses {
		if address, err := os.ReadFile(file); err == nil {
			if socket, ok := strings.CutPrefix(strings.TrimSpace(string(address)), "unix://"); ok {
				remove(socket)
			}
		}
	}
	// CNI's records of pods, with their network namespaces, which are in the lab's folder.
	results, _ := filepath.Glob("/var/lib/cni/results/*")
	for _, file := range results {
		if result, err := os.ReadFile(file); err == nil && strings.Contains(string(result), `"`+mine) {
			remove(file)
		}
	}
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, mine) {
			remove(link)
		}
	}
	return failed
}

// PodNetwork is the network namespace of a running pod of any lab on this machine.
func PodNetwork(pod types.UID) (network.Namespace, error) {
	process, err := PodProcess(pod, "/")
	return network.Namespace(filepath.Join(process, "ns", "net")), err
}

// PodProcess is the folder in /proc of the first process of a container of a running pod of any lab on this machine. The
// container has the given file.
func PodProcess(pod types.UID, file string) (string, error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", err
	}
	for _, p := range processes {
		// The pod's control group is …/pod<uid>/<container>.
		groups, err := os.ReadFile(filepath.Join(p, "cgroup"))
		if err != nil || !strings.Contains(string(groups), "/pod"+string(pod)+"/") {
			continue
		}
		status, err := os.ReadFile(filepath.Join(p, "status"))
		if err != nil || !firstProcess.Match(status) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(p, "root", file)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("pod %s has no process with %s", pod, file)
}

// firstProcess matches the status of a container's process 1.
var firstProcess = regexp.MustCompile(`(?m)^NSpid:.*\t1$`)

// oldestContainerd is the first release with CRI version 1, which kubelets need.
//
// Kubelets ask the container runtime for its cgroup driver, by the CRI call RuntimeConfig, which containerd has since
// 2.0. With an older containerd, kubelets fall back to their own setting cgroupDriver. Kubernetes 1.38 ends this
// fallback. Labs with 1.38 therefore need containerd 2.0, which still reads version 2 of its configuration file.
const oldestContainerd = "1.6"

// containerdVersion matches "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1".
var containerdVersion = regexp.MustCompile(`\sv?(\d+\.\d+\.\d+)`)

// raiseInotifyLimit raises a user's limit of inotify instances, usually 128. A node takes about ten, and without them
// containerd runs no pods. Errors are ignored: the limit may be enough.
func raiseInotifyLimit() {
	const file, enough = "/proc/sys/fs/inotify/max_user_instances", 1024
	data, err := os.ReadFile(file)
	if have, errNumber := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && errNumber == nil && have < enough {
		_ = os.WriteFile(file, []byte(strconv.Itoa(enough)), 0o644)
	}
}

// checkContainers returns an error for missing requirements of containers.
func checkContainers() error {
	var missing []string
	programs := append([]string{
		"containerd", "containerd-shim-runc-v2", "ctr", "runc", "busybox", "ldd", filepath.Join(cniPlugins, "ptp"), filepath.Join(cniPlugins, "host-local"), filepath.Join(cniPlugins, "loopback"),
	}, tools...)
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("this machine lacks programs that nodes and their images need: %s. Install these programs (on Debian: apt-get install containerd runc containernetworking-plugins busybox curl dnsutils netcat-openbsd socat wget)", strings.Join(missing, ", "))
	}
	out, err := exec.Command("containerd", "--version").Output()
	if err != nil {
		return fmt.Errorf("reading the version of containerd: %w", err)
	}
	found := containerdVersion.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("the output of containerd --version contains no version: %q", out)
	}
	if have, err := version.ParseGeneric(string(found[1])); err != nil || have.LessThan(version.MustParseGeneric(oldestContainerd)) {
		return fmt.Errorf("containerd has version %s, but nodes need version %s or later: install a newer version", found[1], oldestContainerd)
	}
	if err := checkOverlay(); err != nil {
		return err
	}
	return cgroup.Prepare()
}

// maxSocket limits the length of a socket's path (unix(7): sun_path, with a final zero byte).
const maxSocket = 107

// checkSockets returns an error if a lab's path is too long for its kubelets' sockets (and temporary names).
func checkSockets(dir string, s Shape) error {
	longest := filepath.Join(dir, fmt.Sprintf("c%d", s.Clusters), "nodes", fmt.Sprintf("c%d-n%d", s.Clusters, s.Nodes), "kubelet", "pod-resources", "0123456789")
	if tooLong := len(longest) - maxSocket; tooLong > 0 {
		return fmt.Errorf("%w: the path %s is %d characters too long for sockets: choose a shorter --name, or a shorter XDG_STATE_HOME", ErrUsage, dir, tooLong)
	}
	return nil
}

// checkOverlay mounts an overlayfs (for containers' files) in the labs' folder: some file systems do not support that.
func checkOverlay() error {
	root, err := stateFolder()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return fmt.Errorf("creating the directory for labs: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(root), "overlay-")
	if err != nil {
		return fmt.Errorf("creating a directory to test overlayfs: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("creating a directory to test overlayfs: %w", err)
		}
	}
	merged := filepath.Join(dir, "merged")
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return fmt.Errorf("containers need overlayfs, which cannot be mounted below %s: %w. Load the kernel module overlay, or set XDG_STATE_HOME to a directory on another file system (ext4 or xfs)", root, err)
	}
	if err := unix.Unmount(merged, 0); err != nil {
		return fmt.Errorf("unmounting an overlayfs: %w", err)
	}
	return nil
}
