package setup

import (
	"fmt"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// serviceCIDRs is the resource from which agents read the Service ranges.
var serviceCIDRs = install.Part{GroupVersion: "networking.k8s.io/v1", Resource: "servicecidrs", Since: "1.33"}

// serviceRanges checks that the agents can know the Service ranges. Without them, it returns a warning, or refuses advertise
// mode cluster-ip: importers could not detect overlapping ranges.
func serviceRanges(on *install.Target, r JoinRequest) (warning string, err error) {
	if r.Member.NoWorkloads {
		return "", nil // the agent outside the cluster has its own flags
	}
	lacks, err := on.Lacks([]install.Part{serviceCIDRs})
	if err != nil {
		return "", err
	}
	return decideServiceRanges(len(lacks) == 0, len(r.ServiceCIDRs) > 0, r.ByClusterIP, on.On)
}

func decideServiceRanges(published, given, byClusterIP bool, on command.Cluster) (warning string, err error) {
	fix := "Use the value of the API server's --service-cluster-ip-range, once per IP family: " + on.Atoll("join FILE --service-cidr RANGE")
	switch {
	case published || given:
		return "", nil
	case byClusterIP:
		return "", hint(fix+" --advertise-mode cluster-ip", "advertise mode cluster-ip needs the cluster's Service ranges, and only Kubernetes 1.33 and later publish ServiceCIDR objects. "+
			"Without the ranges, other clusters cannot detect overlapping Service ranges, and traffic could reach wrong backends")
	}
	return fmt.Sprintf("%s. %s", render.UnknownServiceRanges, fix), nil
}
