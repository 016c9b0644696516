package checkup

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
)

// probePods starts a listening pod in each cluster, and then a pod in each that probes the others.
func probePods(ctx context.Context, e *check.Evidence, targets []Target, o Options) (problems []error) {
	posts := make([]*outpost.Outpost, len(targets))
	closed := make([]error, len(targets))
	defer func() {
		each(len(posts), func(i int) {
			if posts[i] != nil {
				closed[i] = posts[i].Close(ctx)
			}
		})
		if err := errors.Join(closed...); err != nil {
			problems = append(problems, err)
		}
	}()
	each(len(posts), func(i int) {
		c := &e.Clusters[i]
		if c.Unreached != nil || e.OnlyBroker(c) {
			return
		}
		var err error
		posts[i], err = outpost.Open(ctx, targets[i].Config, outpost.Options{Command: "check", Image: Image(c.Survey, o.Image), Identity: c.Name, Lifetime: o.Timeout})
		if err == nil {
			c.Listener, err = posts[i].Listen(ctx)
		}
		c.Outpost = err
	})
	each(len(posts), func(i int) {
		c := &e.Clusters[i]
		if c.Listener == nil {
			return
		}
		ca := c.Survey.CA
		if len(ca) == 0 && o.JoinFile != nil {
			ca = o.JoinFile.CA
		}
		report, err := posts[i].Run(ctx, "probe", check.Plan(e, c, ca))
		if err != nil {
			c.Outpost = fmt.Errorf("running the tests in the cluster: %w", err)
			return
		}
		c.Seen = &report
	})
	return problems
}
