// Package bed is the test bed of the benchmarks: a lab of API servers with real agents.
package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// agentUnit is the lab's name for the agent of a cluster.
const agentUnit = "agent"

// Options configure a Bed.
type Options struct {
	// Name is the name of the lab.
	Name string
	// Programs is the folder with Atoll's programs.
	Programs string
	// Clusters is the number of member clusters.
	Clusters int
	// Bare clusters have no agents, and their API servers no audit logs.
	Bare bool
	// ServiceBits is the prefix length of the clusters' ranges of Services, 0 for the lab's default.
	ServiceBits int
	// Progress receives progress messages.
	Progress io.Writer
}

// Bed is a lab for measurements.
type Bed struct {
	Lab *lab.Lab
	// On has an administrator's client for c1 to cN, and for the broker.
	On map[string]client.WithWatch
	// Members are the names c1 to cN.
	Members []string

	addresses map[string]addresses
}

// addresses are an agent's addresses for metrics and profiles.
type addresses struct{ metrics, profiles string }

// Up starts a bed and returns when its agents work.
func Up(ctx context.Context, o Options) (*Bed, error) {
	programs, err := filepath.Abs(o.Programs)
	if err != nil {
		return nil, err
	}
	l, err := lab.Up(ctx, lab.Options{
		Shape: lab.Shape{Name: o.Name, Clusters: o.Clusters, Nodes: 1, IPFamily: lab.IPv4, ControlPlaneOnly: true, Bare: o.Bare},
		Atoll: filepath.Join(programs, "atoll"), Processors: runtime.NumCPU(), Audit: !o.Bare, Progress: o.Progress, ServiceBits: o.ServiceBits,
	})
	if err != nil {
		return nil, err
	}
	b := &Bed{Lab: l, On: map[string]client.WithWatch{}, addresses: map[string]addresses{}}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(err, b.Down(context.WithoutCancel(ctx)))
	}
	return b, nil
}

func (b *Bed) prepare(ctx context.Context) error {
	for _, c := range b.Lab.Spec.Clusters {
		config, err := b.Lab.RESTConfig(c.Name)
		if err != nil {
			return err
		}
		if b.On[c.Name], err = client.NewWithWatch(config, client.Options{Scheme: simulation.Scheme()}); err != nil {
			return fmt.Errorf("making a client of %s: %w", c.Name, err)
		}
		if c.Name != lab.Broker {
			b.Members = append(b.Members, c.Name)
		}
	}
	if b.Lab.Spec.Bare {
		return nil
	}
	return b.exposeAgents(ctx)
}

// Down removes the lab.
func (b *Bed) Down(ctx context.Context) error { return lab.Down(ctx, b.Lab.Name()) }

// exposeAgents restarts the agents with addresses for metrics and profiles.
func (b *Bed) exposeAgents(ctx context.Context) error {
	units, err := b.Lab.Units()
	if err != nil {
		return err
	}
	for _, u := range units {
		if u.Name != agentUnit {
			continue
		}
		ports, err := lab.FreePorts(2)
		if err != nil {
			return err
		}
		at := addresses{metrics: ports[0].String(), profiles: ports[1].String()}
		b.addresses[u.Cluster] = at
		u.Argv = append(u.Argv, "--metrics-bind-address="+at.metrics, "--pprof-bind-address="+at.profiles)
		if err := b.Lab.Run(ctx, u); err != nil {
			return err
		}
	}
	return b.AgentsReady(ctx)
}

// Agents calls do, such as Lab.Kill or Lab.Start, for the agents of the clusters, or of all
// clusters if none is given. A running agent may not have read everything yet.
func (b *Bed) Agents(ctx context.Context, do func(ctx context.Context, unit string) error, clusters ...string) error {
	if len(clusters) == 0 {
		clusters = b.Members
	}
	for _, c := range clusters {
		if err := do(ctx, c+"/"+agentUnit); err != nil {
			return err
		}
	}
	return nil
}

// AgentsReady waits until each member's exports reach all members.
func (b *Bed) AgentsReady(ctx context.Context) error {
	const namespace = "bench-ready"
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := b.Namespace(ctx, namespace, b.Members...); err != nil {
		return err
	}
	var observers []*Observer
	for _, to := range b.Members {
		o, err := Observe(ctx, b.On[to], namespace)
		if err != nil {
			return err
		}
		observers = append(observers, o)
	}
	for i, from := range b.Members {
		s := Service{Namespace: namespace, Name: fmt.Sprintf("from-%s-%d", from, time.Now().UnixNano()), Endpoints: 1, First: i}
		err := errors.Join(s.Create(ctx, b.On[from]), s.Export(ctx, b.On[from]))
		for _, o := range observers {
			if err == nil {
				_, err = o.Await(ctx, Usable(s.Name), Endpoints(s.Name, 1))
			}
		}
		if err := errors.Join(err, s.Delete(context.WithoutCancel(ctx), b.On[from])); err != nil {
			return fmt.Errorf("waiting for an export of %s to arrive: %w", from, err)
		}
	}
	return nil
}

// Broker returns the bed's broker. Simulated members can join it.
func (b *Bed) Broker() (*simulation.Broker, error) {
	config, err := b.Lab.RESTConfig(lab.Broker)
	if err != nil {
		return nil, err
	}
	return simulation.RealBroker(config)
}

// Pause waits, so that the previous work does not disturb the next measurement.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
