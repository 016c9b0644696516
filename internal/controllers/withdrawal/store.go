package withdrawal

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/names"
)

// store is the ConfigMap: the members that are withdrawn, with the time since when, for people.
type store struct {
	reader client.Reader
	writer client.Writer
}

func (s store) get(ctx context.Context) (*corev1.ConfigMap, error) {
	have := &corev1.ConfigMap{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.LostClusters}, have)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", names.SystemNamespace, names.LostClusters, err)
	}
	return have, nil
}

// read returns what is stored. What is no cluster id was written by somebody else.
func (s store) read(ctx context.Context) (map[string]string, error) {
	stored := map[string]string{}
	have, err := s.get(ctx)
	if have == nil {
		return stored, err
	}
	for id, since := range have.Data {
		if _, err := names.ParseClusterID(id); err == nil {
			stored[id] = since
		}
	}
	return stored, nil
}

// write stores since.
func (s store) write(ctx context.Context, since map[string]string) error {
	have, err := s.get(ctx)
	switch {
	case err != nil:
		return err
	case have == nil:
		err = s.writer.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: names.SystemNamespace, Name: names.LostClusters, Labels: map[string]string{names.LabelManagedBy: names.AgentManager},
			},
			Data: maps.Clone(since),
		})
	default:
		have.Data = maps.Clone(since)
		err = s.writer.Update(ctx, have)
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s/%s: %w", names.SystemNamespace, names.LostClusters, err)
	}
	return nil
}
