package dns

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// operatorStopped returns an error with the fix if Submariner's operator runs, and a note if that is unknown. While the
// operator runs, it restores Lighthouse's part. With two parts for one zone, CoreDNS refuses the change, and cannot
// start any more.
func operatorStopped(ctx context.Context, c client.Reader, on command.Cluster) (note string, err error) {
	running, err := clusterdns.Runs(ctx, c, clusterdns.SubmarinerOperator)
	const why = "the operator would restore Lighthouse's section, and CoreDNS does not start with two sections for the same zone"
	switch {
	case err != nil:
		return fmt.Sprintf("it is unknown whether Submariner's operator runs (%[2]v). If the operator runs, stop it, because %[1]s", why, err), nil
	case running:
		return "", fmt.Errorf("submariner's operator is running: %s. Stop the operator first, which keeps the tunnels: %s",
			why, on.Kubectl("scale deployment %s -n %s --replicas=0", clusterdns.SubmarinerOperator.Name, clusterdns.SubmarinerOperator.Namespace))
	}
	return "", nil
}
