package broker

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// patience is how long one write to a broker, or one read of a single object, may take. A
// broker whose packets are lost answers nothing, and would hold up a controller's workers, of
// which there are few, for as long as TCP hopes. It is about ten times what a slow link to another
// continent needs; what is given up is tried again.
const patience = 10 * time.Second

// bounded returns a client whose requests for one object take limit at most. Lists, which
// may be large, and watches, which have no end, take as long as they do.
func bounded(c client.WithWatch, limit time.Duration) client.WithWatch {
	within := func(ctx context.Context, request func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return request(ctx)
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return within(ctx, func(ctx context.Context) error { return c.Get(ctx, key, o, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return within(ctx, func(ctx context.Context) error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return within(ctx, func(ctx context.Context) error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return within(ctx, func(ctx context.Context) error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return within(ctx, func(ctx context.Context) error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return within(ctx, func(ctx context.Context) error { return c.SubResource(name).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return within(ctx, func(ctx context.Context) error { return c.SubResource(name).Patch(ctx, o, patch, opts...) })
		},
	})
}
