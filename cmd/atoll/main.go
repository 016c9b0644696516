// Command atoll is the person's tool: labs, and what a clusterset is made of.
package main

import (
	"os"

	"github.com/atoll-mcs/atoll/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
