package rights

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

// Counted is a kind of which the quota limits the number of objects.
type Counted struct {
	// Resource is the name in the quota.
	Resource corev1.ResourceName
	// Kind is the kind of the objects.
	Kind schema.GroupVersionKind
	// Most is the default limit.
	Most int64
}

const (
	// maxRecords lets one member publish all records that count, and the others as many.
	maxRecords = 2 * share.Records
	// maxSlices is two slices for each record, one for each IP family, and a quarter more for services with over 100 endpoints.
	// At 4 KiB for a slice of 100 endpoints, they use 200 MiB of etcd's default 2 GiB.
	maxSlices = 5 * maxRecords / 2
	// maxMembers is twice the 500 members that the benchmarks measure. Removed members keep their MemberClusters.
	maxMembers = 1000
)

// AllCounted are the kinds that members create. Secrets are not among them: a join file creates only the one that its Role names.
var AllCounted = []Counted{
	{"count/exportedservices.broker.atoll.dev", brokerv1alpha1.GroupVersion.WithKind("ExportedService"), maxRecords},
	{"count/endpointslices.discovery.k8s.io", schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, maxSlices},
	// Each record has at most one catalogue entry.
	{"count/serviceimports.multicluster.x-k8s.io", schema.GroupVersionKind{Group: mcsv1beta1.GroupName, Version: mcsv1beta1.GroupVersion.Version, Kind: "ServiceImport"}, maxRecords},
	{"count/memberclusters.broker.atoll.dev", brokerv1alpha1.GroupVersion.WithKind("MemberCluster"), maxMembers},
	{"count/leases.coordination.k8s.io", schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, maxMembers},
}

// QuotaName is the name of a clusterset's ResourceQuota.
const QuotaName = "atoll-quota"

// Quota limits the number of a clusterset's objects, to protect the broker's etcd. It does not protect members from each
// other: when it is full, none of them can create objects. It is not one of Objects, because a broker refuses all objects
// of a new kind while it has a quota for the kind but does not count its objects yet.
func Quota(namespace string) *corev1.ResourceQuota {
	hard := corev1.ResourceList{}
	for _, c := range AllCounted {
		hard[c.Resource] = *resource.NewQuantity(c.Most, resource.DecimalSI)
	}
	return &corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: QuotaName, Labels: map[string]string{names.LabelClusterset: namespace}},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}
}
