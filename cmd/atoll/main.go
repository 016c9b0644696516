// Command atoll is the command-line tool. It installs clustersets and members, shows, explains and checks them, and
// runs labs.
package main

import (
	"os"

	"github.com/atoll-mcs/atoll/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
