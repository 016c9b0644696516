package dns

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// decision is what install does. Lighthouse's part is taken out only while Submariner's operator does not run: it would
// write that again, and with two parts for one zone CoreDNS refuses the change, and does not start any more.
func (o *installOptions) decision(ctx context.Context, c client.Reader) clusterdns.Decision {
	decide := clusterdns.Install(o.wiring, o.forms)
	return func(found dnswiring.Cluster) ([]dnswiring.Change, error) {
		changes, err := decide(found)
		if err != nil || !o.wiring.ReplaceLighthouse || !o.replaces(found) {
			return changes, err
		}
		note, err := operatorStopped(ctx, c)
		if err != nil {
			return nil, err
		}
		if note != "" {
			last := &changes[len(changes)-1] // what is taken back in other places comes before
			last.Warnings = append(last.Warnings, note)
		}
		return changes, nil
	}
}

// replaces tells whether there is something of Lighthouse's that the wiring takes out.
func (o *installOptions) replaces(found dnswiring.Cluster) bool {
	beside := o.wiring
	beside.ReplaceLighthouse = false
	_, err := clusterdns.Install(beside, o.forms)(found)
	var taken *dnswiring.ClaimedError
	return errors.As(err, &taken) && taken.Lighthouse
}

// operatorStopped is an error if Submariner's operator is there to run, which says how to stop it, and a note if that
// can't be known.
func operatorStopped(ctx context.Context, c client.Reader) (note string, err error) {
	running, err := clusterdns.Runs(ctx, c, clusterdns.SubmarinerOperator)
	const why = "it would write Lighthouse's part again, and two parts for one zone keep CoreDNS from starting"
	switch {
	case err != nil:
		return fmt.Sprintf("if Submariner's operator runs, stop it, for %s (this could not be looked up: %v)", why, err), nil
	case running:
		return "", fmt.Errorf("submariner's operator runs: %s; stop it first (the tunnels stay): kubectl scale deployment %s -n %s --replicas=0",
			why, clusterdns.SubmarinerOperator.Name, clusterdns.SubmarinerOperator.Namespace)
	}
	return "", nil
}
