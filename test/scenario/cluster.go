package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

func clusterVerbs() []Verb {
	return []Verb{
		{
			Name: "namespace", Args: "NS [in CLUSTERS]", Min: 1, Max: 3, Always: true,
			Summary: "makes the namespace anew in all clusters, or those named (`c1,c2`); it is deleted after the scenario, in every cluster",
			Check: func(s *Script, _ bool, args []string) error {
				if len(args) == 1 {
					return nil
				}
				if len(args) != 3 || args[1] != "in" {
					return errors.New("usage: namespace NS [in CLUSTERS]")
				}
				return s.checkClusters(args[2], false)
			},
			Run: makeNamespace,
		},
		{
			Name: "on", Args: "CLUSTERS apply FILE… [-n NS] | atoll ARGS… | delete ARGS… | export NS/NAME | unexport NS/NAME | join TEXT ARGS… | helm ARGS… | kubectl ARGS… | kubectl-tty ARGS…", Min: 2, Max: -1,
			Summary: "does it in the cluster, in several (`c1,c2`), in `all`, or in the `broker`: kubectl apply of files of the script; the command atoll; kubectl delete; a ServiceExport made or deleted; atoll join with a join file of that text; helm in the repository's folder; any kubectl command, the last form on a terminal",
			Check:   checkOn,
			Run:     runOn,
		},
	}
}

// makeNamespace deletes what an interrupted run may have left of the namespace
// first, so that a scenario always starts from nothing.
func makeNamespace(ctx context.Context, r *Run, args []string) error {
	namespace, list := args[0], "all"
	if len(args) == 3 {
		list = args[2]
	}
	clusters := r.clusters(list)
	if _, known := r.namespaces[namespace]; !known {
		if err := r.deleteNamespace(ctx, namespace); err != nil {
			return err
		}
	}
	r.namespaces[namespace] = append(r.namespaces[namespace], clusters...)
	return r.each(ctx, clusters, func(ctx context.Context, cluster string) error {
		return r.lab.CreateNamespace(ctx, cluster, namespace)
	})
}

// deleteNamespace deletes the namespace everywhere and returns when it is gone.
func (r *Run) deleteNamespace(ctx context.Context, namespace string) error {
	return r.each(ctx, r.lab.Shape().names(), func(ctx context.Context, cluster string) error {
		return r.lab.DeleteNamespace(ctx, cluster, namespace)
	})
}

// each does something in several clusters at once.
func (r *Run) each(ctx context.Context, clusters []string, do func(ctx context.Context, cluster string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, cluster := range clusters {
		group.Go(func() error {
			if err := do(ctx, cluster); err != nil {
				return fmt.Errorf("%s: %w", cluster, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// kubectl runs kubectl in the cluster. The error carries what it printed.
func (r *Run) kubectl(ctx context.Context, cluster string, args ...string) Result {
	return r.kubectlCommand(ctx, cluster, Command{Args: args})
}

func (r *Run) kubectlCommand(ctx context.Context, cluster string, command Command) Result {
	return withStderr(r.lab.Kubectl(ctx, cluster, command))
}

// withStderr puts what a failed program said into its error.
func withStderr(result Result) Result {
	if result.Err != nil && result.Stderr != "" {
		result.Err = fmt.Errorf("%w: %s", result.Err, strings.TrimSpace(result.Stderr))
	}
	return result
}

// onForms are the second words of "on", with the fewest arguments after them.
var onForms = map[string]int{"apply": 1, "atoll": 1, "delete": 1, "export": 1, "unexport": 1, "join": 1, "helm": 1, "kubectl": 1, "kubectl-tty": 1}

func checkOn(s *Script, _ bool, args []string) error {
	if err := s.checkClusters(args[0], true); err != nil {
		return err
	}
	fewest, ok := onForms[args[1]]
	if !ok {
		return fmt.Errorf("unknown form %q", args[1])
	}
	rest := args[2:]
	if len(rest) < fewest {
		return fmt.Errorf("%s needs arguments", args[1])
	}
	switch args[1] {
	case "apply":
		files, _ := applied(rest)
		for _, file := range files {
			if _, ok := s.Files[file]; !ok && file != unknown {
				return fmt.Errorf("the script has no file %s", file)
			}
		}
	case "export", "unexport":
		if _, _, ok := strings.Cut(rest[0], "/"); (!ok && rest[0] != unknown) || len(rest) != 1 {
			return fmt.Errorf("%s takes one NS/NAME", args[1])
		}
	}
	return nil
}

// applied takes the files' names from the arguments of "apply"; from the first
// flag on, the arguments are kubectl's.
func applied(args []string) (files, flags []string) {
	if i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }); i >= 0 {
		return args[:i], args[i:]
	}
	return args, nil
}

// runOn goes through the clusters in order, so that the output has an order too.
func runOn(ctx context.Context, r *Run, args []string) error {
	do, err := r.doing(ctx, args[1], args[2:])
	if err != nil {
		return err
	}
	var output strings.Builder
	var failed error
	clusters := r.clusters(args[0])
	for _, cluster := range clusters {
		result := do(cluster)
		output.WriteString(result.text())
		if result.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", cluster, result.Err))
		}
	}
	r.output = output.String()
	return failed
}

// doing is what a form of "on" does in a cluster.
func (r *Run) doing(ctx context.Context, form string, args []string) (func(cluster string) Result, error) {
	switch form {
	case "atoll":
		return func(cluster string) Result {
			if args[0] == "dns" && !r.script.Shape.Empty {
				r.rewired[cluster] = true
			}
			return withStderr(r.lab.Atoll(ctx, cluster, args...))
		}, nil
	case "join":
		return func(cluster string) Result { return withStderr(r.join(ctx, cluster, args[0], args[1:])) }, nil
	case "helm":
		return func(cluster string) Result { return withStderr(r.lab.Helm(ctx, cluster, args...)) }, nil
	}
	command, err := r.script.command(form, args)
	return func(cluster string) Result { return r.kubectlCommand(ctx, cluster, command) }, err
}

// join has a cluster join by a join file of the given text.
func (r *Run) join(ctx context.Context, cluster, text string, flags []string) Result {
	file, err := os.CreateTemp("", "atoll-scenario-*.join")
	if err != nil {
		return Result{Err: fmt.Errorf("writing a join file: %w", err)}
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return Result{Err: fmt.Errorf("writing a join file: %w", err)}
	}
	return r.lab.Atoll(ctx, cluster, append([]string{"join", file.Name()}, flags...)...)
}

// command makes the call of kubectl that a form of "on" stands for.
func (s *Script) command(form string, args []string) (Command, error) {
	switch form {
	case "apply":
		files, flags := applied(args)
		var manifests []string
		for _, file := range files {
			data, ok := s.Files[file]
			if !ok {
				return Command{}, usageErrorf("the script has no file %s", file)
			}
			manifests = append(manifests, string(data))
		}
		return Command{Args: append([]string{"apply", "-f", "-"}, flags...), Stdin: strings.Join(manifests, "\n---\n")}, nil
	case "delete":
		return Command{Args: append([]string{"delete"}, args...)}, nil
	case "export":
		namespace, name, _ := strings.Cut(args[0], "/")
		return Command{Args: []string{"apply", "-f", "-"}, Stdin: serviceExport(namespace, name)}, nil
	case "unexport":
		namespace, name, _ := strings.Cut(args[0], "/")
		return Command{Args: []string{"delete", "serviceexport", name, "-n", namespace}}, nil
	default:
		return Command{Args: args, TTY: form == "kubectl-tty"}, nil
	}
}

func serviceExport(namespace, name string) string {
	return fmt.Sprintf(`apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {namespace: %q, name: %q}
`, namespace, name)
}
