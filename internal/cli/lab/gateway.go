//go:build linux

package lab

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/lab/gateway"
)

// newGateway returns the command of a program that labs run.
func newGateway() *cobra.Command {
	var path string
	command := &cobra.Command{
		Use:    "gateway --config FILE",
		Short:  "Forward connections from the loopback interface to a lab's API servers",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("reading configuration: %w", err)
			}
			var config gateway.Config
			if err := json.Unmarshal(data, &config); err != nil {
				return fmt.Errorf("reading configuration %s: %w", path, err)
			}
			return gateway.Run(cmd.Context(), config, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
		},
	}
	command.Flags().StringVar(&path, "config", "", "JSON file with the connections to forward")
	return command
}
