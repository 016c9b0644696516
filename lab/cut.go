package lab

import (
	"context"
	"fmt"
	"slices"
)

// Cut stops all traffic between two clusters, or a cluster and the broker, in both directions: of nodes, pods and
// services, new and established. Packets are dropped silently. It lasts until Heal, even if units restart.
func (l *Lab) Cut(ctx context.Context, a, b string) error {
	return l.change(ctx, func(s *Spec) error {
		pair, err := s.pair(a, b)
		if err != nil {
			return err
		}
		if err := s.cut(pair); err != nil {
			_ = s.heal(pair)
			return err
		}
		if !slices.Contains(s.Cuts, pair) {
			s.Cuts = append(s.Cuts, pair)
		}
		return nil
	})
}

// Heal ends a Cut, if there is one.
func (l *Lab) Heal(ctx context.Context, a, b string) error {
	return l.change(ctx, func(s *Spec) error {
		pair, err := s.pair(a, b)
		if err != nil {
			return err
		}
		return s.heal(pair)
	})
}

// HealAll ends every Cut.
func (l *Lab) HealAll(ctx context.Context) error {
	return l.change(ctx, func(s *Spec) error {
		for _, pair := range slices.Clone(s.Cuts) {
			if err := s.heal(pair); err != nil {
				return err
			}
		}
		return nil
	})
}

// pair sorts two members, so that they have one cut.
func (s *Spec) pair(a, b string) (Pair, error) {
	if s.ControlPlaneOnly {
		return Pair{}, fmt.Errorf("%w: lab %s consists of control planes only and has no network to cut", ErrUsage, s.Name)
	}
	if a == b {
		return Pair{}, fmt.Errorf("%w: %s cannot be cut off from itself", ErrUsage, a)
	}
	for _, name := range []string{a, b} {
		if _, err := s.Cluster(name); err != nil {
			return Pair{}, err
		}
	}
	pair := Pair{a, b}
	slices.Sort(pair[:])
	return pair, nil
}

func (s *Spec) cut(pair Pair) error {
	return s.bothEnds(pair, func(n Node, remote *Cluster) error { return n.Namespace.Cut(remote.Name, remote.ranges()) })
}

func (s *Spec) heal(pair Pair) error {
	err := s.bothEnds(pair, func(n Node, remote *Cluster) error { return n.Namespace.Heal(remote.Name) })
	if err == nil {
		s.Cuts = slices.DeleteFunc(s.Cuts, func(p Pair) bool { return p == pair })
	}
	return err
}

// bothEnds calls f for each node of the pair, with the other member.
func (s *Spec) bothEnds(pair Pair, f func(Node, *Cluster) error) error {
	for i, name := range pair {
		local, err := s.Cluster(name)
		if err != nil {
			return err
		}
		remote, err := s.Cluster(pair[1-i])
		if err != nil {
			return err
		}
		for _, n := range local.Nodes {
			if err := f(n, remote); err != nil {
				return err
			}
		}
	}
	return nil
}
