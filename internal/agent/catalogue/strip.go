package catalogue

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// annotationDigests has a stripped entry's digests, after this process's mark.
	annotationDigests = "atoll.dev/digests"
	// keptClusters is how many clusters of an entry the cache keeps.
	keptClusters = 1024
)

// mark is random: a member could forge a fixed one.
var mark = rand.Text()

// Strip is a cache transform (client-go's TransformFunc) for entries: it keeps the identity, the service, the clusters and digests
// of the rest. Any member can write entries, and nothing is derived from them, so their content must not fill the memory. It is
// idempotent.
func Strip(object any) (any, error) {
	entry, ok := object.(*mcsv1beta1.ServiceImport)
	if !ok || strings.HasPrefix(entry.Annotations[annotationDigests], mark) {
		return object, nil
	}
	digests := digestsOf(entry)
	clusters := slices.DeleteFunc(Clusters(entry), func(id string) bool {
		_, err := names.ParseClusterID(id)
		return err != nil
	})
	meta := &entry.ObjectMeta
	return &mcsv1beta1.ServiceImport{TypeMeta: entry.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion, DeletionTimestamp: meta.DeletionTimestamp,
		Labels: map[string]string{
			names.LabelServiceNamespace: meta.Labels[names.LabelServiceNamespace], names.LabelServiceName: meta.Labels[names.LabelServiceName],
		},
		Annotations: map[string]string{
			names.AnnotationClusters: strings.Join(clusters[:min(keptClusters, len(clusters))], ","), annotationDigests: digests.String(),
		},
	}}, nil
}

// digests are those of what an entry says, and of its status, which is written separately.
type digests struct{ content, status string }

func (d digests) String() string { return mark + " " + d.content + " " + d.status }

// digestsOf returns the digests of an entry, stripped or not.
func digestsOf(entry *mcsv1beta1.ServiceImport) digests {
	if text, found := strings.CutPrefix(entry.Annotations[annotationDigests], mark+" "); found {
		content, status, _ := strings.Cut(text, " ")
		return digests{content, status}
	}
	meta := metav1.ObjectMeta{
		Labels: entry.Labels, Annotations: entry.Annotations, Finalizers: entry.Finalizers, OwnerReferences: entry.OwnerReferences,
	}
	return digests{digest(meta, entry.Spec), digest(entry.Status)}
}

func digest(parts ...any) string {
	text, _ := json.Marshal(parts) // cannot fail: these are API types
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
