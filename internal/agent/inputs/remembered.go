package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Keys of the ConfigMap of what is remembered: the broker that it is about, the permissions, and, before the ids of members, the last
// revision that showed them as present.
const (
	keyBroker      = "broker"
	keyPermissions = "permissions"
	keySeen        = "seen_"
)

// rememberedPermissions is the text of keyPermissions: parts of the ConfigMap on the broker.
type rememberedPermissions struct {
	UID    types.UID         `json:"uid"`
	Data   map[string]string `json:"data,omitempty"`
	Binary map[string][]byte `json:"binaryData,omitempty"`
}

// Remembered returns the ConfigMap of what the next process must know of the other members.
func (c *Cluster) Remembered() *corev1.ConfigMap {
	data := map[string]string{keyBroker: c.BrokerName}
	for id, m := range c.View.Memberships() {
		if !m.Removed {
			data[keySeen+id.String()] = m.Seen.String()
		}
	}
	if from, _ := c.View.PermissionsFrom(); from != nil {
		text, _ := json.Marshal(rememberedPermissions{from.UID, from.Data, from.BinaryData}) // cannot fail: it consists of strings
		data[keyPermissions] = string(text)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: names.SystemNamespace, Name: names.RememberedMembers, Labels: map[string]string{names.LabelManagedBy: names.AgentManager},
		},
		Data: data,
	}
}

// remembered records what the last process has written, unless that was about another broker.
func (c *Cluster) remembered(ctx context.Context) error {
	have, err := kit.Get(ctx, c.Live, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.RememberedMembers}, &corev1.ConfigMap{})
	if apierrors.IsForbidden(err) {
		return nil // the role is of an earlier version: nothing was written, either, which package remembered reports
	}
	if err != nil {
		return fmt.Errorf("reading ConfigMap %s/%s: %w", names.SystemNamespace, names.RememberedMembers, err)
	}
	if have == nil || have.Data[keyBroker] != c.BrokerName {
		return nil
	}
	for key, text := range have.Data {
		id, isSeen := strings.CutPrefix(key, keySeen)
		if revision := belief.ParseRevision(text); isSeen && revision != (belief.Revision{}) {
			c.View.AppliedMember(names.ClusterID(id), revision)
		}
	}
	last := rememberedPermissions{}
	if json.Unmarshal([]byte(have.Data[keyPermissions]), &last) == nil && last.UID != "" { // else a user has changed it
		c.View.AppliedPermissions(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: last.UID}, Data: last.Data, BinaryData: last.Binary})
	}
	return nil
}
