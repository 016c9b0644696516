package controllers

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// Writer writes to an API server, and reads from it past any copy. Controllers decide on copies that may be some milliseconds old. A write that fails for
// that reason alone is no failure: the newer version is on its way, and with it the next attempt.
type Writer struct {
	Client client.Client
	Reader client.Reader
}

// Create creates an object. That there is one of its name already is no error: nobody else makes one.
func (w Writer) Create(ctx context.Context, object client.Object) error {
	return ignoreConflict(kit.Create(ctx, w.Client, w.Reader, object, func(client.Object) bool { return true }))
}

// Update replaces an object, unless it is not the one that was decided on any more.
func (w Writer) Update(ctx context.Context, object client.Object) error {
	return ignoreConflict(kit.Update(ctx, w.Client, object))
}

// Delete deletes the very object that was decided on.
func (w Writer) Delete(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	return client.IgnoreNotFound(ignoreConflict(w.Client.Delete(ctx, object, client.Preconditions{UID: &uid})))
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// OutdatedPause is how long to wait where the event that a copy is behind with may not come.
const OutdatedPause = time.Second
