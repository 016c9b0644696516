package lost

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Notes are what a controller has to know after a restart and no object of users' tells: a ConfigMap in the agent's namespace of
// the own cluster.
type Notes struct {
	// Name is the ConfigMap's.
	Name   string
	Reader client.Reader // past any copy
	Writer client.Writer
}

// Read returns what is noted, nil where there is no such ConfigMap.
func (n Notes) Read(ctx context.Context) (map[string]string, error) {
	have, err := n.get(ctx)
	if have == nil {
		return nil, err
	}
	data := map[string]string{}
	maps.Copy(data, have.Data)
	return data, nil
}

// Write has the ConfigMap hold just this.
func (n Notes) Write(ctx context.Context, data map[string]string) error {
	have, err := n.get(ctx)
	switch {
	case err != nil:
		return err
	case have == nil:
		err = n.Writer.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: names.SystemNamespace, Name: n.Name, Labels: map[string]string{names.LabelManagedBy: names.AgentManager},
			},
			Data: maps.Clone(data),
		})
	case !maps.Equal(have.Data, data):
		have.Data = maps.Clone(data)
		err = n.Writer.Update(ctx, have)
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s/%s: %w", names.SystemNamespace, n.Name, err)
	}
	return nil
}

// get returns nil where there is none.
func (n Notes) get(ctx context.Context) (*corev1.ConfigMap, error) {
	have := &corev1.ConfigMap{}
	err := n.Reader.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: n.Name}, have)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", names.SystemNamespace, n.Name, err)
	}
	return have, nil
}
