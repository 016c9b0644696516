package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/lab/image"
)

// toolNames are images that people and others' tests use for tools. One lab image replaces them all.
var toolNames = []string{
	"docker.io/library/busybox", "docker.io/library/alpine", "docker.io/library/debian", "docker.io/library/ubuntu",
	"docker.io/nicolaka/netshoot", "atoll.dev/lab/client",
}

// tools are programs of this machine in the tools' image, next to busybox. Busybox's stty fails if a terminal has no
// size, and its date lacks fractions of a second. Debian's busybox has a wget without timeouts: it crashes at -T.
var tools = []string{"bash", "curl", "date", "dig", "getent", "nc", "sh", "socat", "stty", "wget"}

// registryPort is the registry's port on each node's loopback interface.
const registryPort = 5000

func (l *Lab) imageFolder() string { return filepath.Join(l.Dir(wholeLab), "images") }

// registries is containerd's configuration folder for registries (containerd's docs/hosts.md): use the lab's first.
func (l *Lab) registries() string { return filepath.Join(l.Dir(wholeLab), "registries") }

// makeImages builds the images of the lab's programs and of tools.
func (l *Lab) makeImages() error {
	store, err := image.NewStore(l.imageFolder())
	if err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("looking for a program that images need: %w", err)
	}
	nodeEnv := map[string][]string{}
	for _, c := range l.Spec.Clusters {
		for _, n := range c.Nodes {
			nodeEnv[n.Name] = []string{"ATOLL_LAB_CLUSTER=" + c.Name, "ATOLL_LAB_NODE=" + n.Name}
		}
	}
	tools, err := toolLayer(busybox)
	if err != nil {
		return err
	}
	// program returns a layer with one local program, at /NAME in the image.
	program := func(path string) *image.Layer {
		return &image.Layer{Programs: map[string]string{"/" + filepath.Base(path): path}}
	}
	images := []image.Image{
		{Names: []string{"registry.k8s.io/coredns/coredns"}, Layers: []*image.Layer{program(filepath.Join(l.Spec.Programs, "coredns"))}, Entrypoint: []string{"/coredns"}},
		{Names: []string{"registry.k8s.io/pause"}, Layers: []*image.Layer{program(busybox)}, Entrypoint: []string{"/busybox", "sleep", "2147483647"}},
		{Names: toolNames, Layers: []*image.Layer{tools}},
		{Names: []string{"docker.io/alpine/socat"}, Layers: []*image.Layer{tools}, Entrypoint: []string{"/bin/socat"}},
		{
			Names: []string{"atoll.dev/lab/echo"}, Layers: []*image.Layer{tools, {Programs: map[string]string{"/bin/atoll": l.Spec.Atoll}}},
			Entrypoint: []string{"/bin/atoll", "lab", "echo"}, Env: nodeEnv,
		},
	}
	// Optional programs that scenarios use with Atoll.
	for name, repository := range map[string]string{"haproxy": "docker.io/library/haproxy", "prometheus": "docker.io/prom/prometheus"} {
		if path, err := exec.LookPath(name); err == nil {
			images = append(images, image.Image{Names: []string{repository}, Layers: []*image.Layer{tools, {Programs: map[string]string{"/bin/" + name: path}}}, Entrypoint: []string{"/bin/" + name}})
		}
	}
	for _, name := range []string{render.AgentName, render.DNSName, render.HubName, consoleName} {
		path := filepath.Join(filepath.Dir(l.Spec.Atoll), name)
		if _, err := os.Stat(path); (l.Spec.Bare || name == consoleName || name == render.HubName && !l.Spec.Hub) && errors.Is(err, fs.ErrNotExist) {
			continue // only labs with Atoll or a hub need it, and nobody needs the console
		}
		images = append(images, image.Image{
			Names: []string{render.DefaultRegistry + "/" + name}, Layers: []*image.Layer{program(path)}, Entrypoint: []string{"/" + name}, User: "65532:65532",
		})
	}
	for _, i := range images {
		if err := store.Add(i); err != nil {
			return err
		}
	}
	if err := store.Save(); err != nil {
		return err
	}
	hosts := fmt.Sprintf("[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", fmt.Sprintf("http://127.0.0.1:%d", registryPort))
	return writeFile(filepath.Join(l.registries(), "_default", "hosts.toml"), []byte(hosts), 0o644)
}

// consoleName is the image of the console in a cluster.
const consoleName = "atoll-console"

// toolLayer returns a layer of busybox and this machine's tools.
func toolLayer(busybox string) (*image.Layer, error) {
	made := &image.Layer{
		Programs: map[string]string{}, Links: map[string]string{},
		Files: map[string]string{
			"/etc/passwd": "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
			"/etc/group":  "root:x:0:\nnogroup:x:65534:\n",
			"/etc/wgetrc": "tries = 1\n", // as of busybox: wget would retry 20 times after a timeout
			"/srv/.keep":  "",            // a folder to copy to
		},
	}
	made.Programs["/bin/busybox"] = busybox
	made.Links["/usr/bin"] = "/bin" // for scripts that use /usr/bin/env
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("reading the list of busybox commands: %w", err)
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		made.Links["/bin/"+applet] = "/bin/busybox"
	}
	for _, name := range tools {
		program, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("looking for programs that the tools image needs: %w", err)
		}
		delete(made.Links, "/bin/"+name)
		made.Programs["/bin/"+name] = program
	}
	delete(made.Links, "/bin/busybox")
	return made, nil
}
