// Package cli is the command atoll: its root and its exit status.
//
// Each folder is one command, thin: its flags, a call of internal/install or internal/doctor, and what it prints (output, steps, target have what they share).
// Nothing here decides what is right about a cluster. Start with cli.go, which lists the commands.
package cli
