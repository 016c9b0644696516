package setup

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Settings are the flags with which a cluster has joined, or a hub was deployed, by name and without dashes. Several values of a
// flag are on lines of their own. Flags that are not here have their defaults.
type Settings map[string]string

// object returns the ConfigMap of the settings. It has no secrets.
func (s Settings) object(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.InstallSettings},
		Data:       s,
	}
}

// ReadSettings returns the settings of the member or hub in a namespace, nil if there are none.
func ReadSettings(ctx context.Context, on *install.Target, namespace string) (Settings, error) {
	config := &corev1.ConfigMap{}
	switch err := on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.InstallSettings}, config); {
	case noSuchKind(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the settings of the installation: %w", err)
	case config.Data == nil:
		return Settings{}, nil
	}
	return config.Data, nil
}

// stored returns the settings to store: those of the command, or the arguments of a caller without flags.
func (r JoinRequest) stored() Settings {
	if r.Settings != nil {
		return r.Settings
	}
	s := Settings{}
	if len(r.Member.AgentArgs) > 0 {
		s["agent-arg"] = strings.Join(r.Member.AgentArgs, "\n")
	}
	if r.Member.NoWorkloads {
		s["no-workloads"] = "true"
	}
	return s
}

// Environment returns the variables that the user has set for the agents of a cluster.
func Environment(ctx context.Context, on *install.Target) (all []corev1.EnvVar, err error) {
	agent := &appsv1.Deployment{}
	if err := on.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: render.AgentName}, agent); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	for _, container := range agent.Spec.Template.Spec.Containers {
		for _, variable := range container.Env {
			if variable.ValueFrom == nil {
				all = append(all, variable)
			}
		}
	}
	return all, nil
}

// SetRegistry sets the registry of a clusterset's images, which join files name.
func SetRegistry(ctx context.Context, on *install.Target, namespace, registry string) error {
	if err := annotate(ctx, on, namespace, names.AnnotationRegistry, registry); err != nil {
		return fmt.Errorf("setting the registry: %w", err)
	}
	return nil
}

// Registry returns the registry of a clusterset's images, "" for the published ones.
func Registry(ctx context.Context, on *install.Target, namespace string) (string, error) {
	place, err := on.Namespace(ctx, namespace)
	if err != nil || place == nil {
		return "", err
	}
	return place.Annotations[names.AnnotationRegistry], nil
}
