package probe

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// NewCommand returns atoll-agent's command for test pods.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "probe",
		Short: "Run the network tests of atoll check and atoll verify",
		Args:  cobra.NoArgs,
	}
	serve := &cobra.Command{
		Use:   "serve IDENTITY",
		Short: "Answer connections of other probes with the identity of this probe",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			listener, err := Listen(cmd.Context(), fmt.Sprintf(":%d", Port))
			if err != nil {
				return err
			}
			listener.Serve(cmd.Context(), args[0])
			return nil
		},
	}
	do := &cobra.Command{
		Use:   "do PLAN",
		Short: "Run the tests of a plan in JSON format, and print the results",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var plan Plan
			if err := json.Unmarshal([]byte(args[0]), &plan); err != nil {
				return fmt.Errorf("reading the plan: %w", err)
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), Do(cmd.Context(), plan).Encode())
			return err
		},
	}
	command.AddCommand(serve, do)
	return command
}
