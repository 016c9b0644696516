package lost

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// store is the ConfigMap of withdrawn members and their withdrawal times, for the next process and for people.
type store struct {
	reader client.Reader // without a cache
	writer client.Writer
}

// read returns the stored members. It drops keys that are no cluster id: a user wrote them.
func (s store) read(ctx context.Context) (map[string]string, error) {
	have, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]string{}
	if have != nil {
		maps.Copy(ours, have.Data)
	}
	maps.DeleteFunc(ours, func(id, _ string) bool {
		_, err := names.ParseClusterID(id)
		return err != nil
	})
	return ours, nil
}

// write replaces the ConfigMap's data.
func (s store) write(ctx context.Context, data map[string]string) error {
	have, err := s.get(ctx)
	switch {
	case err != nil:
		return err
	case have == nil:
		err = s.writer.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: names.SystemNamespace, Name: names.LostClusters, Labels: map[string]string{names.LabelManagedBy: names.AgentManager},
			},
			Data: maps.Clone(data),
		})
	case !maps.Equal(have.Data, data):
		have.Data = maps.Clone(data)
		err = s.writer.Update(ctx, have)
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s/%s: %w", names.SystemNamespace, names.LostClusters, err)
	}
	return nil
}

// get returns nil if there is no ConfigMap.
func (s store) get(ctx context.Context) (*corev1.ConfigMap, error) {
	have, err := kit.Get(ctx, s.reader, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.LostClusters}, &corev1.ConfigMap{})
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", names.SystemNamespace, names.LostClusters, err)
	}
	return have, nil
}
