package lost

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// The ConfigMap has when a member's endpoints were withdrawn by the member's id. Other keys begin with one of these, which no id
// contains: when a member became silent, and since when it is known that no endpoint of a member has ever answered.
const (
	keySilent   = names.LostSilent
	keyUnproven = names.LostUnproven
)

// store is the ConfigMap of lost and silent members, for the next process and for people.
type store struct {
	reader client.Reader // without a cache
	writer client.Writer
}

// read returns the stored members. It drops keys without a cluster id: a user wrote them.
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
		_, err := names.ParseClusterID(strings.TrimPrefix(strings.TrimPrefix(id, keySilent), keyUnproven))
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

// silentKey returns the member that a key calls silent.
func silentKey(key string) (id names.ClusterID, silent bool) {
	text, silent := strings.CutPrefix(key, keySilent)
	return names.ClusterID(text), silent
}

func isUnproven(key string) bool { return strings.HasPrefix(key, keyUnproven) }

// decidedAt parses when a member was withdrawn; an invalid time counts as now.
func decidedAt(since string) time.Time {
	if at, err := time.Parse(time.RFC3339, since); err == nil {
		return at
	}
	return time.Now()
}
