package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/cli"
	"github.com/atoll-mcs/atoll/test/pages"
)

// A checker checks whether commands are valid.
type checker struct {
	root      string
	targets   []string // make's targets
	variables []string // make's variables
	resources []string // kubectl's resources
}

func newChecker(root string) (*checker, error) {
	c := &checker{root: root, resources: slices.Clone(builtIn)}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(string(makefile), -1) {
		c.targets = append(c.targets, m[1])
	}
	for _, m := range regexp.MustCompile(`\$\(([A-Z_]+)\)`).FindAllStringSubmatch(string(makefile), -1) {
		c.variables = append(c.variables, m[1])
	}
	return c, c.readResources()
}

// readResources reads the names of kinds from the CRDs.
func (c *checker) readResources() error {
	files, err := filepath.Glob(filepath.Join(c.root, "charts/*/crds/*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var crd struct {
				Spec struct {
					Names struct {
						Plural, Singular string
						ShortNames       []string
					}
				}
			}
			if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			c.resources = append(append(c.resources, crd.Spec.Names.Plural, crd.Spec.Names.Singular), crd.Spec.Names.ShortNames...)
		}
	}
	return nil
}

// programOf returns the program of a command and its arguments, without sudo, and with kubectl's plugin under its own name.
func programOf(command pages.Command) (program string, args []string) {
	command = command.WithoutRedirections()
	program, args = strings.TrimPrefix(command[0], "bin/"), command[1:]
	switch {
	case program == "sudo" && len(args) > 0:
		return programOf(pages.Command(args))
	case program == "kubectl" && len(args) > 0 && args[0] == "atoll":
		return "atoll", args[1:]
	}
	return program, args
}

// check returns an error for an invalid command. known is false for programs that the checker
// does not know.
func (c *checker) check(command pages.Command) (known bool, err error) {
	program, args := programOf(command)
	switch program {
	case "atoll":
		return true, atoll(args, true)
	case "make":
		return true, c.make(args)
	case "kubectl":
		return true, c.kubectl(args)
	case "helm":
		return true, c.helm(args)
	case "go":
		return true, c.golang(args)
	case "export", "source", "ln", "install", "command", "mkdir", "cp", "ldd", "grep", "xargs", "sha256sum", "cut", "tar", "echo":
		return true, nil
	}
	return false, nil
}

// atoll parses a command line as the program does. Placeholders may be missing or additional
// arguments.
func atoll(args []string, strict bool) error {
	root := cli.NewRoot("atoll")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	command, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	command.InitDefaultHelpFlag()
	command.InitDefaultVersionFlag()
	if !command.DisableFlagParsing {
		if err := command.ParseFlags(rest); err != nil {
			return err
		}
		rest = command.Flags().Args()
	}
	if command.HasSubCommands() && len(rest) > 0 {
		return fmt.Errorf("%s has no command %s", command.CommandPath(), rest[0])
	}
	if !strict || command.Args == nil {
		return nil
	}
	return command.ValidateArgs(rest)
}

func (c *checker) make(args []string) error {
	for _, word := range args {
		name, _, variable := strings.Cut(word, "=")
		switch {
		case variable && !slices.Contains(c.variables, name):
			return fmt.Errorf("the Makefile uses no variable %s", name)
		case !variable && !slices.Contains(c.targets, name):
			return fmt.Errorf("the Makefile has no target %s", name)
		}
	}
	return nil
}

func (c *checker) golang(args []string) error {
	for _, word := range args {
		if path, ok := strings.CutPrefix(word, "./"); ok && path != "..." {
			if err := c.exists(strings.TrimSuffix(path, "/...")); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) exists(path string) error {
	_, err := os.Stat(filepath.Join(c.root, path))
	return err
}

// helmFlags are helm's commands and flags that pages use; true for flags with a value.
var helmFlags = map[string]map[string]bool{
	"install":   {"--create-namespace": false, "--set-file": true, "--set": true, "--set-string": true, "--take-ownership": false, "--wait": false},
	"show":      {},
	"upgrade":   {"--reset-then-reuse-values": false, "--set": true, "--wait": false},
	"uninstall": {},
	"":          {"--kube-context": true, "-n": true},
}

func (c *checker) helm(args []string) error {
	words, err := split("helm", args, helmFlags)
	if err != nil {
		return err
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "charts/") {
			if err := c.exists(filepath.Join(word, "Chart.yaml")); err != nil {
				return err
			}
		}
	}
	return nil
}

// KubectlFlags are the commands and flags of kubectl that pages use; true for flags with a
// value. The flags of "" belong to all commands. A test compares them with kubectl's help.
var KubectlFlags = map[string]map[string]bool{
	"annotate": {"--overwrite": false},
	"apply":    {"-f": true, "-k": true, "--server-side": false, "--force-conflicts": false},
	"create":   {"--image": true, "--from-literal": true, "--hard": true, "--clusterrole": true, "--serviceaccount": true, "--verb": true, "--resource": true},
	"delete":   {"--all": false, "-A": false, "-l": true, "--ignore-not-found": false, "--wait": true},
	"describe": {"-l": true},
	"exec":     {},
	"expose":   {"--port": true, "--target-port": true},
	"get":      {"-o": true, "-A": false, "-l": true, "--field-selector": true, "-L": true},
	"label":    {"--overwrite": false, "-A": false, "--all": false},
	"logs":     {"-l": true},
	"patch":    {"--type": true, "-p": true},
	"rollout":  {"--timeout": true},
	"run":      {"--rm": false, "-it": false, "--restart": true, "--image": true},
	"scale":    {"--replicas": true},
	"version":  {},
	"wait":     {"--for": true, "-f": true, "--timeout": true},
	"":         {"--context": true, "-n": true, "--kubeconfig": true},
}

// builtIn are names of Kubernetes' built-in kinds that pages use.
var builtIn = []string{
	"clusterrole", "clusterrolebinding", "configmap", "crd", "crds", "deployment", "daemonset", "daemonsets", "deployments", "endpoints", "endpointslice", "endpointslices", "events", "lease", "resourcequota",
	"namespace", "namespaces", "node", "nodes", "pod", "pods", "quota", "secret", "service", "services", "svc",
}

// withResources are kubectl's commands whose first argument is a kind, a comma-separated list
// of kinds, or kind/name.
var withResources = []string{"annotate", "create", "delete", "describe", "expose", "get", "label", "patch", "scale"}

func (c *checker) kubectl(args []string) error {
	words, err := split("kubectl", args, KubectlFlags)
	if err != nil || len(words) < 2 || !slices.Contains(withResources, words[0]) {
		return err
	}
	for _, word := range words[1:] {
		kinds, _, named := strings.Cut(word, "/")
		for _, kind := range strings.Split(kinds, ",") {
			if !slices.Contains(c.resources, kind) {
				return fmt.Errorf("kubectl %s: unknown resource %q (add built-in kinds to test/docs/words.go)", words[0], kind)
			}
		}
		if !named {
			return nil // names follow
		}
	}
	return nil
}

// split returns the arguments of a command line without flags, the command first. Unknown flags
// are errors.
func split(program string, args []string, flags map[string]map[string]bool) (words []string, err error) {
	verb := ""
	hasValue := func(flag string) (bool, bool) {
		if value, ok := flags[verb][flag]; ok {
			return value, true
		}
		value, ok := flags[""][flag]
		return value, ok
	}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			break
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			if verb == "" {
				if _, ok := flags[word]; !ok || word == "" {
					return nil, fmt.Errorf("%s %s: unknown here (test/docs/words.go lists the known words)", program, word)
				}
				verb = word
			}
			words = append(words, word)
			continue
		}
		name, _, attached := strings.Cut(word, "=")
		value, ok := hasValue(name)
		if !ok {
			return nil, fmt.Errorf("%s %s %s: unknown here (test/docs/words.go lists the known words)", program, verb, name)
		}
		if value && !attached {
			i++
		}
	}
	if verb == "" {
		return nil, fmt.Errorf("%s %v: no command", program, args)
	}
	return words, nil
}
