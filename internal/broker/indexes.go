package broker

import (
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// byService is the index of slices by the service, in the member clusters, that they belong to.
const byService = "service"

func indexLabels(object any) ([]string, error) {
	return []string{layout.Service(object.(metav1.Object)).String()}, nil
}
