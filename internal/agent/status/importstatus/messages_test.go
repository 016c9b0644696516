package importstatus

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// The exact messages of the condition Ready in each case, because users act on them.
func TestMessages(t *testing.T) {
	const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol
	imp := func(kind mcsv1beta1.ServiceImportType, clusters []string, ips ...string) *mcsv1beta1.ServiceImport {
		i := &mcsv1beta1.ServiceImport{Spec: mcsv1beta1.ServiceImportSpec{Type: kind, IPs: ips, IPFamilies: []corev1.IPFamily{v4}}}
		for _, c := range clusters {
			i.Status.Clusters = append(i.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: c})
		}
		return i
	}
	for name, tt := range map[string]struct {
		got             metav1.Condition
		status          metav1.ConditionStatus
		reason, message string
	}{
		"one address": {
			*Imported(imp(mcsv1beta1.ClusterSetIP, nil, "10.0.0.1"), nil), metav1.ConditionTrue, "Ready",
			"The service is imported. Its clusterset IP is 10.0.0.1.",
		},
		"something left out": {
			*Imported(imp(mcsv1beta1.ClusterSetIP, nil, "10.0.0.1"), []string{"Cluster \"c2\" is unreachable."}), metav1.ConditionTrue, "Ready",
			"The service is imported. Its clusterset IP is 10.0.0.1. Cluster \"c2\" is unreachable.",
		},
		"two addresses": {
			*Imported(imp(mcsv1beta1.ClusterSetIP, nil, "10.0.0.1", "fd00::1"), nil), metav1.ConditionTrue, "Ready",
			"The service is imported. Its clusterset IP is 10.0.0.1 and fd00::1.",
		},
		"headless": {
			*Imported(imp(mcsv1beta1.Headless, nil), nil), metav1.ConditionTrue, "Ready",
			"The service is imported. The service is headless, so clients use its DNS name.",
		},
		"what is done otherwise than asked for": {
			*Imported(imp(mcsv1beta1.Headless, nil), []string{"PreferClose is used instead."}), metav1.ConditionTrue, "Ready",
			"The service is imported. The service is headless, so clients use its DNS name. PreferClose is used instead.",
		},
		"no port": {
			*Portless(imp(mcsv1beta1.ClusterSetIP, []string{"c1"})), metav1.ConditionFalse, "Pending",
			`The service has no port, because "c1" exports no valid port. Clients cannot connect to the service. ` +
				`Compare the ports of the Service in that cluster with spec.ports of the MultiClusterService.`,
		},
		"IPv6 in a cluster of IPv4": {
			*NotSupported(imp(mcsv1beta1.ClusterSetIP, []string{"c1", "c2"}), []corev1.IPFamily{v4}), metav1.ConditionFalse, "IPFamilyNotSupported",
			`The service is exported only with IPv6 addresses, by "c1", "c2". Services in this cluster have only IPv4 addresses. ` +
				`The service is imported when a cluster exports it with IPv4 addresses.`,
		},
		"IPv4 in a cluster of IPv6": {
			*NotSupported(imp(mcsv1beta1.Headless, []string{"c1"}), []corev1.IPFamily{v6}), metav1.ConditionFalse, "IPFamilyNotSupported",
			`The service is exported only with IPv4 addresses, by "c1". Services in this cluster have only IPv6 addresses. ` +
				`The service is imported when a cluster exports it with IPv6 addresses.`,
		},
	} {
		if tt.got != (metav1.Condition{Type: "Ready", Status: tt.status, Reason: tt.reason, Message: tt.message}) {
			t.Errorf("%s: got %+v", name, tt.got)
		}
	}
}
