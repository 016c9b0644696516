// Package cli is the root command of atoll, and sets the exit status.
//
// Each folder is one thin command: flags, a call of internal/install or internal/doctor, and output (shared: output,
// steps, target). Commands contain no rules about clusters. Start with cli.go, which lists the commands.
package cli
