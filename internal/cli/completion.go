package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install"
)

// completionTime limits a cluster's response time, because the user waits at the Tab key.
const completionTime = 2 * time.Second

// completer proposes words after the given ones.
type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// names are the commands whose arguments are names in a cluster, with the objects' kinds.
var names = map[string]func() client.ObjectList{
	"export": func() client.ObjectList { return &corev1.ServiceList{} }, "unexport": func() client.ObjectList { return &mcsv1beta1.ServiceExportList{} },
	"exports": func() client.ObjectList { return &mcsv1beta1.ServiceExportList{} }, "imports": func() client.ObjectList { return &mcsv1beta1.ServiceImportList{} },
	"endpoints": func() client.ObjectList { return &mcsv1beta1.ServiceImportList{} },
}

// complete registers completion of contexts, namespaces, names and formats for a command and its subcommands.
func complete(command *cobra.Command) {
	for flag, with := range map[string]completer{"context": contexts, "namespace": namespaces, "output": formats} {
		if command.LocalFlags().Lookup(flag) != nil {
			// Fails only if the flag does not exist, or has a completion.
			_ = command.RegisterFlagCompletionFunc(flag, with)
		}
	}
	switch list := names[command.Name()]; {
	case command.ValidArgsFunction != nil:
	case list != nil:
		command.ValidArgsFunction = one(func(c *cobra.Command) []string { return objects(c, list(), false) })
	case command.Name() == "explain":
		command.ValidArgsFunction = one(func(c *cobra.Command) []string { return objects(c, &mcsv1beta1.ServiceImportList{}, true) })
	case slices.Contains([]string{"check", "verify", "gather", "bench"}, command.Name()):
		command.ValidArgsFunction = contexts
	}
	for _, sub := range command.Commands() {
		complete(sub)
	}
}

// one proposes words for the first argument only.
func one(words func(*cobra.Command) []string) completer {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(words(c), word), cobra.ShellCompDirectiveNoFileComp
	}
}

func beginning(words []string, with string) []string {
	slices.Sort(words)
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, with) })
}

// chosen is the cluster that the flags select, if there are such flags.
func chosen(c *cobra.Command) target.Cluster {
	value := func(name string) string {
		if f := c.Flag(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	return target.Cluster{Kubeconfig: value("kubeconfig"), Context: value("context")}
}

// contexts are the kubeconfig's contexts that the arguments do not contain yet.
func contexts(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = chosen(c).Kubeconfig
	config, err := rules.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var words []string
	for name := range config.Contexts {
		if !slices.Contains(args, name) {
			words = append(words, name)
		}
	}
	return beginning(words, word), cobra.ShellCompDirectiveNoFileComp
}

func namespaces(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return beginning(objects(c, &corev1.NamespaceList{}, true), word), cobra.ShellCompDirectiveNoFileComp
}

// formats are the values of --output.
func formats(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	f := c.Flag("output")
	if several, ok := f.Value.(interface{ Formats() []string }); ok {
		return beginning(several.Formats(), word), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// objects returns names of objects in a cluster: in one namespace or, with full, in all, as NAMESPACE/NAME. It returns
// none if the cluster does not respond in time.
func objects(c *cobra.Command, list client.ObjectList, full bool) []string {
	cluster := chosen(c)
	config, err := cluster.Config()
	if err != nil {
		return nil
	}
	config.Timeout = completionTime
	on, err := install.NewTarget(config, nil)
	if err != nil {
		return nil
	}
	var in client.InNamespace
	if f := c.Flag("namespace"); !full {
		given := ""
		if f != nil {
			given = f.Value.String()
		}
		namespace, err := cluster.Namespace(given)
		if err != nil {
			return nil
		}
		in = client.InNamespace(namespace)
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	if err := on.List(ctx, list, in); err != nil {
		return nil
	}
	var words []string
	_ = meta.EachListItem(list, func(o runtime.Object) error { // fails only if the function does
		accessor, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		word := accessor.GetName()
		if accessor.GetNamespace() != "" && full {
			word = accessor.GetNamespace() + "/" + word
		}
		words = append(words, word)
		return nil
	})
	return words
}
