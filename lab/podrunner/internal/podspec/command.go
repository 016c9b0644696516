package podspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Command returns what a container runs: its command, or for want of one what
// its image stands for, followed by its args; variables are expanded. Images
// maps repositories, without tag, to programs of the host. An image that is not
// there makes an error that tells a person what to do.
func Command(c *corev1.Container, images map[string][]string, env map[string]string) ([]string, error) {
	lookup := func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
	var command []string
	for _, arg := range c.Command {
		command = append(command, Expand(arg, lookup))
	}
	if len(command) == 0 {
		entrypoint, ok := images[Repository(c.Image)]
		if !ok {
			known := strings.Join(slices.Sorted(maps.Keys(images)), ", ")
			return nil, fmt.Errorf("no image %q in the lab, which pulls none: give the container a command "+
				"(any program of the host), or use one of its own images: %s", c.Image, known)
		}
		command = slices.Clone(entrypoint)
	}
	for _, arg := range c.Args {
		command = append(command, Expand(arg, lookup))
	}
	if len(command) == 0 {
		return nil, fmt.Errorf("image %q has no command of its own: give the container one", c.Image)
	}
	return command, nil
}

// Repository is an image's name without tag and digest, and without the parts
// that are docker.io's default.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		image = image[:colon]
	}
	for _, prefix := range []string{"docker.io/", "index.docker.io/", "library/"} {
		image = strings.TrimPrefix(image, prefix)
	}
	return image
}
