package checkup

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
)

// look has a pod in each cluster look around, once there is one in each that answers the others.
func look(ctx context.Context, e *check.Evidence, targets []Target, o Options) (problems []error) {
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
		if c.Unreached != nil {
			return
		}
		var err error
		posts[i], err = outpost.Open(ctx, unhurried(targets[i].Config), outpost.Options{Command: "check", Image: Image(c.Survey, o.Image), Identity: c.Name, Lifetime: o.Timeout})
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
		report, err := posts[i].Run(ctx, "look", check.Plan(e, c, ca))
		if err != nil {
			c.Outpost = fmt.Errorf("looking around in the cluster: %w", err)
			return
		}
		c.Seen = &report
	})
	return problems
}

// unhurried is without a limit for one request: a watch takes as long as it takes.
func unhurried(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = 0
	return config
}
