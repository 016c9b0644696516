package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
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
	awaitDials(t, n, importing, "10.201.0", 0, 1) // it answers

	n.cutOff(dead.ID)
	n.cutOff(importing.ID)
	n.pods("10.201.0", false)
	web.isReady(t, "without the dead cluster", http, addressOf(1), addressOf(2))
	web.isReady(t, "the port that only the dead cluster has", ports[1], addressOf(0))
	planes.NoError(t, importing.Stop())
	planes.NoError(t, importing.Start(t.Context()))
	awaitDials(t, n, importing, "10.201.0", n.dials(importing, "10.201.0"), 5)
	web.isReady(t, "after the restart", http, addressOf(1), addressOf(2))
	n.heal(importing.ID)
	only.isReady(t, "no other cluster has it", http, "10.201.0.9")

	n.pods("10.201.0", true)
	web.isReady(t, "it answers", http, addressOf(0), addressOf(1), addressOf(2))
	n.heal(dead.ID)
	web.isNeverEmpty(t)
	only.isNeverEmpty(t)
}

// Two of four clusters die one after another, with the broker and without it. The loss of the first hides neither the loss of the second
// nor the return of the first. The others serve all the time.
func TestSilenceOneAfterAnother(t *testing.T) {
	for name, reachable := range map[string]bool{"with the broker": true, "without the broker": false} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			n, members := joinOver(t, 4)
			importing := members[3]
			http := exportWeb(t, members...)[0]
			p := follow(t, importing, "web")
			p.isReady(t, "all", http, addressOf(0), addressOf(1), addressOf(2), addressOf(3))
			for _, prefix := range []string{"10.201.0", "10.202.0", "10.203.0"} {
				awaitDials(t, n, importing, prefix, 0, 1)
			}
			if !reachable {
				n.cutOff(importing.ID)
			}
			die := func(i int, prefix string) {
				n.cutOff(members[i].ID)
				n.pods(prefix, false)
			}
			silent := func(ids ...string) {
				t.Helper()
				eventually(t, fmt.Sprintf("silent are %v", ids), func(ctx context.Context) error {
					have, err := silentIn(ctx, importing)
					if err == nil && !slices.Equal(have, ids) {
						err = fmt.Errorf("silent are %v", have)
					}
					return err
				})
			}
			die(0, "10.201.0")
			p.isReady(t, "without the first", http, addressOf(1), addressOf(2), addressOf(3))
			silent("sim1")
			die(1, "10.202.0")
			p.isReady(t, "without both", http, addressOf(2), addressOf(3))
			silent("sim1", "sim2")
			n.pods("10.201.0", true)
			n.heal(members[0].ID)
			p.isReady(t, "the first is back", http, addressOf(0), addressOf(2), addressOf(3))
			silent("sim2")
			p.isNeverEmpty(t)
		})
	}
}

// A cluster whose own pods at other nodes do not answer either concludes nothing: its own network may be at fault. When they answer,
// it does.
func TestSilenceIsNotOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Setenv(names.NodeNameVariable, "n0") // the pods are at n1
	n, members := joinOver(t, 3)
	dead, importing := members[0], members[2]
	http := exportWeb(t, members...)[0]
	p := follow(t, importing, "web")
	p.isReady(t, "all", http, addressOf(0), addressOf(1), addressOf(2))
	for _, prefix := range []string{"10.201.0", "10.202.0", "10.203.0"} {
		awaitDials(t, n, importing, prefix, 0, 1)
	}

	n.cutOff(dead.ID)
	n.cutOff(importing.ID)
	for _, prefix := range []string{"10.201.0", "10.202.0", "10.203.0"} {
		n.pods(prefix, false)
	}
	own := n.dials(importing, "10.203.0")
	awaitDials(t, n, importing, "10.201.0", n.dials(importing, "10.201.0"), 10)
	if asked := n.dials(importing, "10.203.0") - own; asked < 5 {
		t.Errorf("its own pods were asked %d times", asked)
	}
	have, err := silentIn(t.Context(), importing)
	planes.NoError(t, err)
	if len(have) > 0 {
		t.Errorf("silent are %v", have)
	}
	p.isReady(t, "nothing answers", http, addressOf(0), addressOf(1), addressOf(2))

	n.pods("10.202.0", true)
	n.pods("10.203.0", true)
	p.isReady(t, "its own network works", http, addressOf(1), addressOf(2))
}

// awaitDials waits until a member has connected to pods with an address prefix so many times more than before.
func awaitDials(t *testing.T, n *network, from *Member, prefix string, before, times int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s connects to %s", from.ID, prefix), func(context.Context) error {
		if have := n.dials(from, prefix) - before; have < times {
			return fmt.Errorf("%d connections", have)
		}
		return nil
	})
}

// silentIn returns the clusters that a member has stored as silent, sorted.
func silentIn(ctx context.Context, m *Member) (ids []string, _ error) {
	stored := &corev1.ConfigMap{}
	err := m.Client.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.LostClusters}, stored)
	for key := range stored.Data {
		if id, silent := strings.CutPrefix(key, names.LostSilent); silent {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, client.IgnoreNotFound(err)
}
