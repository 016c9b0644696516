package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/hub"
	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/cli"
	"github.com/atoll-mcs/atoll/internal/console"
)

const commandsIntro = `# Commands and flags

This page lists all commands of ` + "`atoll`" + `, with the texts of ` + "`--help`" + `, and the flags of the programs in the clusters.
`

// commandsPage is the reference of the commands of atoll and of the flags of atoll-agent, atoll-hub and atoll-console.
func commandsPage() string {
	var b strings.Builder
	b.WriteString(commandsIntro)
	writeCommands(&b, cli.NewRoot("atoll"))
	flags := pflag.NewFlagSet("atoll-agent", pflag.ContinueOnError)
	(&agent.Options{}).AddFlags(flags)
	b.WriteString("\n## atoll-agent\n")
	writeFlags(&b, flags)
	b.WriteString("\n## atoll-hub\n")
	writeFlags(&b, hub.NewCommand().Flags())
	flags = pflag.NewFlagSet("atoll-console", pflag.ContinueOnError)
	(&console.InCluster{}).AddFlags(flags)
	b.WriteString("\n## atoll-console\n")
	writeFlags(&b, flags)
	return b.String()
}

func writeCommands(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", c.CommandPath(), c.Short+".")
	if c.Long != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Long))
	}
	if c.Runnable() && !c.HasSubCommands() {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", c.UseLine())
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```text\n%s\n```\n", strings.TrimRight(c.Example, "\n"))
	}
	writeFlags(b, c.NonInheritedFlags())
	for _, sub := range c.Commands() {
		writeCommands(b, sub)
	}
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	head := "\n| Flag | Default | |\n|---|---|---|\n"
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name, value := "`--"+f.Name+"`", ""
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(b, "%s| %s | %s | %s |\n", head, name, value, strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(f.Usage))
		head = ""
	})
}
