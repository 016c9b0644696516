package credential

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// SecretName is the membership Secret in the agent's namespace of a member cluster.
const SecretName = "atoll-broker"

const (
	keyClusterID  = "cluster-id"
	keyClusterset = "clusterset"
	keyServer     = "server"
	keyCA         = "ca.crt"
	// KeyToken is the key of the token, the only key that agents change.
	KeyToken = "token"
)

// Secret encodes a membership as a Secret.
func (m Membership) Secret(namespace string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: SecretName},
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			keyClusterID:  []byte(m.ClusterID),
			keyClusterset: []byte(m.Clusterset),
			keyServer:     []byte(m.Server),
			keyCA:         m.CA,
			KeyToken:      []byte(m.Token),
		},
	}
}

// FromSecret reads a membership from a Secret.
func FromSecret(secret *corev1.Secret) (Membership, error) {
	m := Membership{
		ClusterID:  names.ClusterID(secret.Data[keyClusterID]),
		Clusterset: string(secret.Data[keyClusterset]),
		Server:     string(secret.Data[keyServer]),
		CA:         secret.Data[keyCA],
		Token:      string(secret.Data[KeyToken]),
	}
	if err := m.Validate(); err != nil {
		return Membership{}, fmt.Errorf("reading Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return m, nil
}
