package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/atoll-mcs/atoll/internal/cli/bench"
	"github.com/atoll-mcs/atoll/internal/cli/broker"
	"github.com/atoll-mcs/atoll/internal/cli/check"
	"github.com/atoll-mcs/atoll/internal/cli/console"
	"github.com/atoll-mcs/atoll/internal/cli/dns"
	"github.com/atoll-mcs/atoll/internal/cli/drain"
	"github.com/atoll-mcs/atoll/internal/cli/explain"
	"github.com/atoll-mcs/atoll/internal/cli/export"
	"github.com/atoll-mcs/atoll/internal/cli/gather"
	"github.com/atoll-mcs/atoll/internal/cli/get"
	"github.com/atoll-mcs/atoll/internal/cli/hub"
	"github.com/atoll-mcs/atoll/internal/cli/join"
	"github.com/atoll-mcs/atoll/internal/cli/lab"
	"github.com/atoll-mcs/atoll/internal/cli/leave"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/render"
	"github.com/atoll-mcs/atoll/internal/cli/shift"
	"github.com/atoll-mcs/atoll/internal/cli/status"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/cli/upgrade"
	"github.com/atoll-mcs/atoll/internal/cli/verify"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/lab/kubebin"
)

// Exit statuses. A command that runs another program returns that program's status.
const (
	exitError = 1
	exitUsage = 64 // EX_USAGE of sysexits.h
)

var quiet sync.Once // the logs are global

// Main runs a command line, whose args[0] is the program's name, and returns the exit status. It writes data to stdout,
// and messages to stderr; both may quote other clusters, so what cannot be printed is escaped. It ends early on SIGINT and SIGTERM.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the first signal lets commands clean up, the second ends them
	quiet.Do(func() {
		ctrllog.SetLogger(logr.Discard()) // else it prints a stack after 30 s, when the next client is made
		klog.SetLogger(logr.Discard())    // commands report what fails themselves
	})
	begun := false
	program, args := called(args)
	root := NewRoot(program)
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(output.Printable(stdout))
	root.SetErr(output.Printable(stderr))
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var status interface{ ExitStatus() int }
	if errors.As(err, &status) {
		return status.ExitStatus() // the other program has reported its error
	}
	fmt.Fprintf(root.ErrOrStderr(), "%s: %v\n", command.CommandPath(), err)
	if !begun || errors.Is(err, lab.ErrUsage) || errors.Is(err, target.ErrUsage) {
		fmt.Fprintf(root.ErrOrStderr(), "see: %s --help\n", command.CommandPath())
		return exitUsage
	}
	return exitError
}

// Names as a kubectl plugin: the plugin itself, and the name that kubectl calls for shell completion
// (https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/).
const pluginName, pluginCompletion = "kubectl-atoll", "kubectl_complete-atoll"

// called returns the program's name for messages, and its arguments.
func called(args []string) (program string, rest []string) {
	switch program, rest = filepath.Base(args[0]), args[1:]; program {
	case pluginName:
		return "kubectl atoll", rest
	case pluginCompletion:
		return "kubectl atoll", append([]string{cobra.ShellCompRequestCmd}, rest...)
	}
	return program, rest
}

// NewRoot returns the root command with all subcommands. program is the name it was called by.
func NewRoot(program string) *cobra.Command {
	root := &cobra.Command{
		Use:           "atoll",
		Short:         "Services across Kubernetes clusters",
		Version:       version.String(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: program},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"services", "Share Services:", []*cobra.Command{export.NewCommand(), export.NewUnexport(), drain.NewCommand(), drain.NewUndrain(), shift.NewCommand(), get.NewCommand(), explain.NewCommand()}},
		{"install", "Install, upgrade and remove Atoll:", []*cobra.Command{broker.NewCommand(), join.NewCommand(), upgrade.NewCommand(), leave.NewCommand(), dns.NewCommand(), hub.NewCommand(), render.NewCommand()}},
		{"inspect", "Inspect and test clusters:", []*cobra.Command{status.NewCommand(), check.NewCommand(), console.NewCommand(), verify.NewCommand(), bench.NewCommand(), gather.NewCommand()}},
		{"lab", "Try Atoll on this machine, without real clusters:", []*cobra.Command{lab.NewCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(newVersion())
	group(root)
	complete(root)
	return root
}

// group makes commands with subcommands print their help, and refuse arguments that are no subcommand. Others name the argument that
// is missing.
func group(command *cobra.Command) {
	if command.HasSubCommands() {
		command.Args = subcommand
		command.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else if accepts := command.Args; accepts != nil {
		command.Args = func(cmd *cobra.Command, args []string) error {
			err := accepts(cmd, args)
			if needs := arguments(cmd.Use); err != nil && len(args) < len(needs) {
				return fmt.Errorf("the argument %s is missing", needs[len(args)])
			}
			return err
		}
	}
	for _, sub := range command.Commands() {
		group(sub)
	}
}

// subcommand refuses an argument, and suggests the subcommand that it may mean.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	text := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+args[0])
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		text += fmt.Sprintf(". Did you mean %q?", cmd.CommandPath()+" "+like[0])
	}
	return errors.New(text)
}

// arguments returns the names of the arguments that a command needs, from the line of its use.
func arguments(use string) (names []string) {
	for _, field := range strings.Fields(use)[1:] {
		optional := strings.HasPrefix(field, "[") && (strings.HasSuffix(field, "]") || !strings.Contains(field, "]"))
		if optional || strings.HasPrefix(field, "-") {
			break // what follows is optional too
		}
		names = append(names, strings.TrimSuffix(field, "..."))
	}
	return names
}

// versions is the output of the version command.
type versions struct {
	Atoll string      `json:"atoll"`
	Lab   labVersions `json:"lab"`
}

// labVersions are of programs that labs run. They are not the versions of a cluster.
type labVersions struct {
	Kubernetes string `json:"kubernetes"`
	CoreDNS    string `json:"coredns"`
}

func newVersion() *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of Atoll, and the versions of the programs that labs run",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{version.String(), labVersions{kubebin.KubernetesVersion, kubebin.CoreDNSVersion}}
			return output.Write(cmd.OutOrStdout(), format, v, func(w io.Writer, v versions) error {
				_, err := fmt.Fprintf(w, "atoll           %s\nlab kubernetes  %s\nlab coredns     %s\n", v.Atoll, v.Lab.Kubernetes, v.Lab.CoreDNS)
				return err
			})
		},
	}
	output.AddFlag(command.Flags(), &format, output.Table, output.JSON, output.YAML)
	return command
}
