package cases

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/simulation"
)

const (
	// fleetSize is the number of clusters that export to a single importer.
	fleetSize = 40
	// fleetSlices is the total number of their slices, and fleetEndpoints the total number of
	// endpoints.
	fleetSlices, fleetEndpoints = 1500, 100000
)

// fleet is a set of simulated members in this process, with real agents.
type fleet struct {
	members []*simulation.Member
	// services are the members' exports, one per member, each in its own namespace.
	services []bed.Service
}

// populate starts the fleet and exports its services, unless it has already. No cluster imports
// the services before their namespaces exist.
func (r *Run) populate(ctx context.Context) error {
	if r.fleet != nil {
		return nil
	}
	slices, endpoints := r.sized(fleetSlices), r.sized(fleetEndpoints)
	r.Say("starting %d simulated clusters that export %d endpoints in %d slices", fleetSize, endpoints, slices)
	broker, err := r.Bed.Broker()
	if err != nil {
		return err
	}
	members, err := simulation.JoinAll(ctx, broker, fleetSize, simulation.Options{})
	if err != nil {
		return fmt.Errorf("starting simulated clusters: %w", err)
	}
	r.fleet = &fleet{members: members}
	for i, m := range members {
		share := func(total int) int { return total*(i+1)/fleetSize - total*i/fleetSize }
		s := bed.Service{
			Namespace: "of-" + m.ID.String(), Name: fmt.Sprintf("web-%d", i),
			Endpoints: share(endpoints), Pieces: share(slices), First: endpoints * i / fleetSize,
		}
		err := m.Client.Create(ctx, bed.NamespaceObject(s.Namespace))
		if err = errors.Join(err, s.Create(ctx, m.Client), s.Export(ctx, m.Client)); err != nil {
			return fmt.Errorf("in %s: %w", m.ID, err)
		}
		r.fleet.services = append(r.fleet.services, s)
	}
	return nil
}

// imported creates the namespaces of the fleet's services in the importer, waits until all are
// imported, and returns their observer.
func (r *Run) imported(ctx context.Context) (*bed.Observer, error) {
	if err := r.populate(ctx); err != nil {
		return nil, err
	}
	r.Say("waiting until %s has imported them", importer)
	o, err := bed.Observe(ctx, r.Bed.On[importer], "") // service names are unique
	if err != nil {
		return nil, err
	}
	var marks []bed.Mark
	for _, s := range r.fleet.services {
		if err := r.Bed.Namespace(ctx, s.Namespace, importer); err != nil {
			return nil, err
		}
		marks = append(marks, bed.Usable(s.Name), bed.Endpoints(s.Name, s.Endpoints))
	}
	_, err = o.Await(ctx, marks...)
	return o, err
}
