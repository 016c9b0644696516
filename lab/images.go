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

// toolNames are images that people, and the tests of others, take for their tools. The lab has one that stands for all.
var toolNames = []string{
	"docker.io/library/busybox", "docker.io/library/alpine", "docker.io/library/debian", "docker.io/library/ubuntu",
	"docker.io/alpine/socat", "docker.io/nicolaka/netshoot", "atoll.dev/lab/client",
}

// tools are programs of this machine that the tools' image has besides busybox, which does what none of them does. Busybox's stty fails where a terminal has no size yet.
var tools = []string{"bash", "curl", "dig", "nc", "sh", "socat", "stty"}

// registryPort is where the lab's registry listens on each node's loopback interface.
const registryPort = 5000

func (l *Lab) imageFolder() string { return filepath.Join(l.Dir(wholeLab), "images") }

// registries is the folder of containerd's configuration of registries (containerd's docs/hosts.md): for any of them it asks the lab's first.
func (l *Lab) registries() string { return filepath.Join(l.Dir(wholeLab), "registries") }

// makeImages makes the images of all that the lab runs, and of tools.
func (l *Lab) makeImages() error {
	store, err := image.NewStore(l.imageFolder())
	if err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("looking for a program of images: %w", err)
	}
	where := map[string][]string{}
	for _, c := range l.Spec.Clusters {
		for _, n := range c.Nodes {
			where[n.Name] = []string{"ATOLL_LAB_CLUSTER=" + c.Name, "ATOLL_LAB_NODE=" + n.Name}
		}
	}
	images := []image.Image{
		{Names: []string{"registry.k8s.io/coredns/coredns"}, Programs: map[string]string{"/coredns": filepath.Join(l.Spec.Programs, "coredns")}, Entrypoint: []string{"/coredns"}},
		{Names: []string{"atoll.dev/lab/echo"}, Programs: map[string]string{"/atoll": l.Spec.Atoll}, Entrypoint: []string{"/atoll", "lab", "echo"}, Env: where},
		{Names: []string{"registry.k8s.io/pause"}, Programs: map[string]string{"/busybox": busybox}, Entrypoint: []string{"/busybox", "sleep", "2147483647"}},
	}
	for _, name := range []string{render.AgentName, render.DNSName, render.HubName} {
		program := filepath.Join(filepath.Dir(l.Spec.Atoll), name)
		if _, err := os.Stat(program); l.Spec.Bare && errors.Is(err, fs.ErrNotExist) {
			continue // nobody may want it
		}
		images = append(images, image.Image{
			Names: []string{render.DefaultRegistry + "/" + name}, Programs: map[string]string{"/" + name: program},
			Entrypoint: []string{"/" + name}, User: "65532:65532",
		})
	}
	all, err := toolImage(busybox)
	if err != nil {
		return err
	}
	for _, i := range append(images, all) {
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

// toolImage is made of busybox and the tools of this machine.
func toolImage(busybox string) (image.Image, error) {
	made := image.Image{
		Names: toolNames, Programs: map[string]string{}, Links: map[string]string{},
		Files: map[string]string{
			"/etc/passwd": "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
			"/etc/group":  "root:x:0:\nnogroup:x:65534:\n",
			"/srv/.keep":  "", // a folder to copy to
		},
	}
	made.Programs["/bin/busybox"] = busybox
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return made, fmt.Errorf("asking busybox what it can do: %w", err)
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		made.Links["/bin/"+applet] = "/bin/busybox"
	}
	for _, name := range tools {
		program, err := exec.LookPath(name)
		if err != nil {
			return made, fmt.Errorf("looking for programs of the tools' image: %w", err)
		}
		delete(made.Links, "/bin/"+name)
		made.Programs["/bin/"+name] = program
	}
	delete(made.Links, "/bin/busybox")
	return made, nil
}
