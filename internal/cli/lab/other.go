//go:build !linux

// Package lab is the command `atoll lab`, which there is on Linux alone.
package lab

import (
	"errors"

	"github.com/spf13/cobra"
)

// ErrUsage is in the chain of errors that the caller made.
var ErrUsage = errors.New("invalid request")

// NewCommand returns a command that says which systems support labs.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lab",
		Short: "Run real Kubernetes clusters on a Linux machine",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a lab's clusters are network namespaces of a Linux machine: run this program on a Linux machine")
		},
	}
}
