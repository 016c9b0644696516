package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

func clusterVerbs() []Verb {
	return []Verb{
		{
			Name: "namespace", Args: "NS [in CLUSTERS]", Min: 1, Max: 3, Always: true,
			Summary: "re-creates the namespace in all clusters or CLUSTERS (`c1,c2`), and deletes it after the scenario",
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
			Name: "on", Args: "CLUSTERS apply FILE… [-n NS] | atoll ARGS… | delete ARGS… | export NS/NAME… | unexport NS/NAME… | join TEXT ARGS… | helm ARGS… | kubectl ARGS… | kubectl-tty ARGS…", Min: 2, Max: -1,
			Summary: "runs a command in one cluster, several (`c1,c2`), `all` or the `broker`. `apply` takes the script's files; `export` and `unexport` create and delete ServiceExports; `join` takes the text of a join file; `helm` runs in the repository; `kubectl-tty` has a terminal",
			Check:   checkOn,
			Run:     runOn,
		},
	}
}

// makeNamespace first deletes the namespace that an interrupted run may have left behind, so
// that a scenario always starts with an empty namespace.
func makeNamespace(ctx context.Context, r *Run, args []string) error {
	namespace, clusters := args[0], r.clusters("all")
	if len(args) == 3 {
		clusters = r.clusters(args[2])
	}
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

// deleteNamespace deletes the namespace in all clusters and waits for the deletion.
func (r *Run) deleteNamespace(ctx context.Context, namespace string) error {
	return r.each(ctx, r.lab.Shape().names(), func(ctx context.Context, cluster string) error {
		return r.lab.DeleteNamespace(ctx, cluster, namespace)
	})
}

// each calls do for several clusters in parallel.
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

// onForms are the second words of "on". Arguments follow each.
var onForms = []string{"apply", "atoll", "delete", "export", "unexport", "join", "helm", "kubectl", "kubectl-tty"}

func checkOn(s *Script, _ bool, args []string) error {
	if err := s.checkClusters(args[0], true); err != nil {
		return err
	}
	if !slices.Contains(onForms, args[1]) {
		return fmt.Errorf("unknown form %q", args[1])
	}
	rest := args[2:]
	if len(rest) == 0 {
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
		for _, service := range rest {
			if !strings.Contains(service, "/") && service != unknown {
				return fmt.Errorf("%q is not NS/NAME", service)
			}
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

func runOn(ctx context.Context, r *Run, args []string) error {
	command, err := r.script.command(args[1], args[2:])
	if err != nil {
		return err
	}
	return r.inTurn(args[0], func(cluster string) error {
		if args[1] == "atoll" && args[2] == "dns" && !r.script.Shape.Empty {
			r.rewired[cluster] = true
		}
		result := r.do(ctx, cluster, command)
		r.output += result.text()
		return result.Err
	})
}

// inTurn calls do for the clusters in order, so that the output is in order. It continues after
// a failure.
func (r *Run) inTurn(list string, do func(cluster string) error) error {
	r.output = ""
	var failed error
	for _, cluster := range r.clusters(list) {
		if err := do(cluster); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", cluster, err))
		}
	}
	return failed
}

// command returns the call for a form of "on".
func (s *Script) command(form string, args []string) (Command, error) {
	kubectl := Command{Program: "kubectl", Args: args}
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
		kubectl.Args, kubectl.Stdin = append([]string{"apply", "-f", "-"}, flags...), strings.Join(manifests, "\n---\n")
	case "delete":
		kubectl.Args = append([]string{"delete"}, args...)
	case "export", "unexport":
		kubectl.Args = []string{map[string]string{"export": "apply", "unexport": "delete"}[form], "-f", "-"}
		for _, service := range args {
			namespace, name, _ := strings.Cut(service, "/")
			kubectl.Stdin += serviceExport(namespace, name)
		}
	case "kubectl-tty":
		kubectl.TTY = true
	case "join":
		return Command{Program: "atoll", Args: append([]string{"join", "-"}, args[1:]...), Stdin: args[0]}, nil
	case "atoll", "helm":
		return Command{Program: form, Args: args}, nil
	}
	return kubectl, nil
}

func serviceExport(namespace, name string) string {
	return fmt.Sprintf(`---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {namespace: %q, name: %q}
`, namespace, name)
}
