package podrunner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/container"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podspec"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/volume"
)

// writeNameFiles writes the files by which programs find names. They lie in the
// Pod's folder, for its containers share them.
func (w *worker) writeNameFiles() error {
	hostname, _ := w.hostname()
	resolver := podspec.PodResolver(w.pod, w.runner.resolver, w.runner.cfg.ClusterDNS, w.runner.cfg.ClusterDomain)
	for name, text := range map[string]string{"hostname": hostname + "\n", "resolv.conf": resolver.String()} {
		if err := writeFile(filepath.Join(w.dir, "etc", name), text); err != nil {
			return fmt.Errorf("writing /etc/%s: %w", name, err)
		}
	}
	return nil
}

func (w *worker) writeHosts() error {
	hostname, fqdn := w.hostname()
	text := podspec.Hosts(hostname, fqdn, w.sandbox.ips, w.pod.Spec.HostAliases)
	if err := writeFile(filepath.Join(w.dir, "etc", "hosts"), text); err != nil {
		return fmt.Errorf("writing /etc/hosts: %w", err)
	}
	return nil
}

// mounts are a container's, outer ones before inner ones.
func (w *worker) mounts(run *instance) ([]container.Mount, error) {
	termination := filepath.Join(run.dir(), "termination-log")
	if err := os.WriteFile(termination, nil, 0o666); err != nil {
		return nil, err
	}
	if err := os.Chmod(termination, 0o666); err != nil { // whatever the umask
		return nil, err
	}
	var mounts []container.Mount
	add := func(source, target string, readOnly bool) {
		mounts = slices.DeleteFunc(mounts, func(m container.Mount) bool { return m.Target == target })
		mounts = append(mounts, container.Mount{Source: source, Target: target, ReadOnly: readOnly})
	}
	for _, name := range []string{"hostname", "hosts", "resolv.conf"} {
		add(filepath.Join(w.dir, "etc", name), "/etc/"+name, false)
	}
	for path, program := range w.runner.cfg.ImagePrograms[podspec.Repository(run.spec.Image)] {
		add(program, path, true)
	}
	if path := run.spec.TerminationMessagePath; path != "" {
		add(termination, path, false)
	}
	for _, m := range run.spec.VolumeMounts {
		source, err := w.mountSource(run, m)
		if err != nil {
			return nil, fmt.Errorf("mount of volume %q: %w", m.Name, err)
		}
		add(source.path, filepath.Clean(m.MountPath), m.ReadOnly || source.made)
	}
	slices.SortStableFunc(mounts, func(a, b container.Mount) int {
		return strings.Count(a.Target, "/") - strings.Count(b.Target, "/")
	})
	return mounts, nil
}

type mountSource struct {
	path string
	made bool // its files are the runner's, not the container's
}

func (w *worker) mountSource(run *instance, m corev1.VolumeMount) (mountSource, error) {
	i := slices.IndexFunc(w.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
	if i < 0 {
		return mountSource{}, fmt.Errorf("no such volume")
	}
	vol := &w.pod.Spec.Volumes[i]
	source := mountSource{path: w.volumes.dir(m.Name), made: volume.IsMade(vol)}
	if vol.HostPath != nil {
		source.path = vol.HostPath.Path
	}
	sub := m.SubPath
	if m.SubPathExpr != "" {
		env := run.env
		sub = podspec.Expand(m.SubPathExpr, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	}
	if sub == "" {
		return source, nil
	}
	var err error
	source.path, err = subPath(source.path, sub, !source.made)
	return source, err
}

// subPath resolves a path within a volume, which must not lead out of it. One
// that is absent becomes a folder where that may be.
func subPath(dir, sub string, mayMake bool) (string, error) {
	path := filepath.Join(dir, filepath.Clean("/"+sub))
	if _, err := os.Stat(path); os.IsNotExist(err) && mayMake {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return "", err
		}
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if real != root && !strings.HasPrefix(real, root+"/") {
		return "", fmt.Errorf("subPath %q leads out of the volume", sub)
	}
	return real, nil
}

// baseEnv is what containers get beside what they ask for, as from an image and
// a container runtime.
func (w *worker) baseEnv(spec *corev1.Container) map[string]string {
	hostname, _ := w.hostname()
	env := map[string]string{
		"PATH": container.DefaultPath, "HOME": "/root", "HOSTNAME": hostname,
		"ATOLL_LAB_CLUSTER": w.runner.cfg.Cluster, "ATOLL_LAB_NODE": w.node.Name,
	}
	if u := user(w.pod, spec); u != nil && u.UID != 0 {
		env["HOME"] = "/"
	}
	if spec.TTY {
		env["TERM"] = "xterm"
	}
	return env
}

func (w *worker) serviceEnv() map[string]string {
	links := w.pod.Spec.EnableServiceLinks == nil || *w.pod.Spec.EnableServiceLinks
	services := w.runner.objects.in(w.namespace).linked(links)
	return podspec.ServiceEnv(services)
}

// programs are the host programs that images stand for, and this one, as far as
// they are there.
func (r *runner) programs() []container.Mount {
	paths := []string{r.cfg.InitCommand[0]}
	for _, entrypoint := range r.cfg.Images {
		if len(entrypoint) > 0 && filepath.IsAbs(entrypoint[0]) {
			paths = append(paths, entrypoint[0])
		}
	}
	slices.Sort(paths)
	var all []container.Mount
	for _, path := range slices.Compact(paths) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, container.Mount{Source: real, Target: path, ReadOnly: true})
		}
	}
	return all
}

// user is what a container's security context makes it run as; nil is root.
func user(pod *corev1.Pod, spec *corev1.Container) *container.User {
	var uid, gid *int64
	var groups []int64
	if s := pod.Spec.SecurityContext; s != nil {
		uid, gid, groups = s.RunAsUser, s.RunAsGroup, slices.Clone(s.SupplementalGroups)
	}
	if s := spec.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			uid = s.RunAsUser
		}
		if s.RunAsGroup != nil {
			gid = s.RunAsGroup
		}
	}
	if g := fsGroup(pod); g != nil {
		groups = append(groups, *g)
	}
	if uid == nil && gid == nil && len(groups) == 0 {
		return nil
	}
	u := &container.User{}
	if uid != nil {
		u.UID = uint32(*uid)
	}
	if gid != nil {
		u.GID = uint32(*gid)
	}
	for _, g := range groups {
		u.Groups = append(u.Groups, uint32(g))
	}
	return u
}

func fsGroup(pod *corev1.Pod) *int64 {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.FSGroup
}

func readOnlyRoot(spec *corev1.Container) bool {
	s := spec.SecurityContext
	return s != nil && s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem
}

// maxMessage is what the API keeps of a container's last words.
const maxMessage = 4096

// terminationMessage reads what the container left to say, or the end of its log
// where it asks for that.
func (i *instance) terminationMessage() string {
	text, _ := os.ReadFile(filepath.Join(i.dir(), "termination-log"))
	if len(text) == 0 && i.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && i.process.ExitCode() != 0 {
		text = i.lastLines()
	}
	if len(text) > maxMessage {
		text = text[len(text)-maxMessage:]
	}
	return strings.ToValidUTF8(string(text), "�")
}
