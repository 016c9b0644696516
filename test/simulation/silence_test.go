package simulation

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/atoll-mcs/atoll/test/planes"
)

// A cluster that does not answer gets no traffic where another cluster could serve, also while the broker is away and after a
// restart of the agent; elsewhere it keeps its endpoints. It is used again when it answers.
func TestSilence(t *testing.T) {
	waits(t)
	n, members := joinOver(t, 3)
	dead, importing := members[0], members[2]
	ports := exportWeb(t, members...)
	export(t, dead, "only", "10.201.0.9", "")
	web, only := follow(t, importing, "web"), follow(t, importing, "only")
	http := ports[0]
	web.isReady(t, "all", http, addressOf(0), addressOf(1), addressOf(2))
	only.isReady(t, "all", http, "10.201.0.9")
	eventually(t, "a pod of the dead cluster has answered", func(context.Context) error {
		if n.dials(importing, "10.201.0") == 0 {
			return errors.New("nobody has asked")
		}
		return nil
	})

	n.cutOff(dead.ID)
	n.cutOff(importing.ID)
	n.pods("10.201.0", false)
	web.isReady(t, "without the dead cluster", http, addressOf(1), addressOf(2))
	web.isReady(t, "the port that only the dead cluster has", ports[1], addressOf(0))
	planes.NoError(t, importing.Stop())
	planes.NoError(t, importing.Start(t.Context()))
	before := n.dials(importing, "10.201.0")
	eventually(t, "the new process asks the dead cluster", func(context.Context) error {
		if n.dials(importing, "10.201.0") < before+5 {
			return fmt.Errorf("%d connections", n.dials(importing, "10.201.0")-before)
		}
		return nil
	})
	web.isReady(t, "after the restart", http, addressOf(1), addressOf(2))
	n.heal(importing.ID)
	only.isReady(t, "no other cluster has it", http, "10.201.0.9")

	n.pods("10.201.0", true)
	web.isReady(t, "it answers", http, addressOf(0), addressOf(1), addressOf(2))
	n.heal(dead.ID)
	web.isNeverEmpty(t)
	only.isNeverEmpty(t)
}
