package survey

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// readSettings reads the settings with which the cluster has joined.
func (s *Survey) readSettings(ctx context.Context, c *install.Target) {
	settings := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.InstallSettings}, settings); client.IgnoreNotFound(err) != nil {
		s.Unread = append(s.Unread, fmt.Errorf("reading the settings: %w", err))
	}
	s.Cluster.Settings = settings.Data
}
