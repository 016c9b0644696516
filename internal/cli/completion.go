package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install"
)

// completionTime limits a cluster's response time, because the user waits at the Tab key.
const completionTime = 2 * time.Second

// completer proposes words after the given ones.
type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// names are the kinds of objects whose names are the argument of a command.
var names = map[string]schema.GroupVersionKind{
	"export":    corev1.SchemeGroupVersion.WithKind("Service"),
	"unexport":  mcsv1beta1.SchemeGroupVersion.WithKind("ServiceExport"),
	"exports":   mcsv1beta1.SchemeGroupVersion.WithKind("ServiceExport"),
	"imports":   mcsv1beta1.SchemeGroupVersion.WithKind("ServiceImport"),
	"endpoints": mcsv1beta1.SchemeGroupVersion.WithKind("ServiceImport"),
	"shift":     mcsv1beta1.SchemeGroupVersion.WithKind("ServiceImport"),
	"explain":   mcsv1beta1.SchemeGroupVersion.WithKind("ServiceImport"),
}

// complete registers completion of contexts, namespaces, names and formats for a command and its subcommands.
func complete(command *cobra.Command) {
	for flag, with := range map[string]completer{"context": contexts, "namespace": namespaces, "output": formats} {
		if command.LocalFlags().Lookup(flag) != nil {
			// Fails only if the flag does not exist, or has a completion.
			_ = command.RegisterFlagCompletionFunc(flag, with)
		}
	}
	switch kind, named := names[command.Name()]; {
	case command.ValidArgsFunction != nil:
	case named:
		everywhere := command.Name() == "explain" || command.Name() == "shift" // which take NAMESPACE/NAME
		command.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return beginning(objects(c, kind, everywhere), word), cobra.ShellCompDirectiveNoFileComp
		}
	case slices.Contains([]string{"check", "verify", "gather", "bench", "status", "upgrade"}, command.Name()):
		command.ValidArgsFunction = contexts
	}
	for _, sub := range command.Commands() {
		complete(sub)
	}
}

func beginning(words []string, with string) []string {
	slices.Sort(words)
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, with) })
}

// value returns the value of a flag, or "" if the command does not have it. Of a repeated flag, it is the first one.
func value(c *cobra.Command, name string) string {
	if f := c.Flag(name); f != nil {
		if several, ok := f.Value.(pflag.SliceValue); ok {
			return strings.Join(several.GetSlice()[:min(len(several.GetSlice()), 1)], "")
		}
		return f.Value.String()
	}
	return ""
}

// chosen is the cluster that the flags select.
func chosen(c *cobra.Command) *target.Cluster {
	return &target.Cluster{Kubeconfig: value(c, "kubeconfig"), Context: value(c, "context")}
}

// contexts are the kubeconfig's contexts that the arguments do not contain yet.
func contexts(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	config, err := chosen(c).Loader().RawConfig()
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
	return beginning(objects(c, corev1.SchemeGroupVersion.WithKind("Namespace"), true), word), cobra.ShellCompDirectiveNoFileComp
}

// formats are the values of --output.
func formats(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	f := c.Flag("output")
	if several, ok := f.Value.(interface{ Formats() []string }); ok {
		return beginning(several.Formats(), word), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// objects returns names of objects in a cluster: in one namespace or everywhere, as NAMESPACE/NAME. It returns none if
// the cluster does not respond in time.
func objects(c *cobra.Command, kind schema.GroupVersionKind, everywhere bool) []string {
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
	namespace := ""
	if !everywhere {
		if namespace, err = cluster.Namespace(value(c, "namespace")); err != nil {
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := on.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var words []string
	for _, o := range list.Items {
		word := o.Name
		if o.Namespace != "" && everywhere {
			word = o.Namespace + "/" + word
		}
		words = append(words, word)
	}
	return words
}
