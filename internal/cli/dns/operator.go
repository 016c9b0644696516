package dns

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// operatorStopped is an error if Submariner's operator is there to run, which says how to stop it, and a note if that
// can't be known. Lighthouse's part is taken out only while it does not run: it would write that again, and with two parts
// for one zone CoreDNS refuses the change, and does not start any more.
func operatorStopped(ctx context.Context, c client.Reader, on command.Cluster) (note string, err error) {
	running, err := clusterdns.Runs(ctx, c, clusterdns.SubmarinerOperator)
	const why = "it would write Lighthouse's part again, and two parts for one zone keep CoreDNS from starting"
	switch {
	case err != nil:
		return fmt.Sprintf("if Submariner's operator runs, stop it, for %s (this could not be looked up: %v)", why, err), nil
	case running:
		return "", fmt.Errorf("submariner's operator runs: %s. Stop it first, which keeps the tunnels: %s",
			why, on.Kubectl("scale deployment %s -n %s --replicas=0", clusterdns.SubmarinerOperator.Name, clusterdns.SubmarinerOperator.Namespace))
	}
	return "", nil
}
