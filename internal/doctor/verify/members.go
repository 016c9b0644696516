package verify

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Member is a cluster under test.
type Member struct {
	checkup.Target
	ID names.ClusterID
	// Broker locates the broker for this program.
	Broker credential.Locate
	// Image is atoll-agent's image for the pods.
	Image string
}

// Read reads the membership of a cluster, whose pods run image; "" means the agents' image. It fails if the cluster is
// not a member.
func Read(ctx context.Context, cluster checkup.Target, broker credential.Locate, image string) (Member, error) {
	// The system namespace has no exports, so this reads little.
	found, err := survey.Read(ctx, cluster.Config, survey.Scope{Installation: true, Namespace: names.SystemNamespace, Broker: broker, On: cluster.On})
	if err != nil {
		return Member{}, fmt.Errorf("%s: %w", cluster, err)
	}
	if found.ClusterID == "" {
		return Member{}, fmt.Errorf("%s: %w. To check whether the cluster can join: %s", cluster, survey.ErrNotJoined, cluster.On.Atoll("check --pre"))
	}
	return Member{Target: cluster, ID: found.ClusterID, Broker: broker, Image: checkup.Image(found, image)}, nil
}

// explain returns atoll explain's findings about a Service in the member as the end of a sentence. It is empty on an
// error.
func (m Member) explain(ctx context.Context, service types.NamespacedName) string {
	found, err := survey.Read(context.WithoutCancel(ctx), m.Config, survey.Scope{
		Namespace: service.Namespace, Service: service.Name, Endpoints: true, Installation: true, Broker: m.Broker, On: m.On,
	})
	if err != nil {
		return ""
	}
	text := ""
	for _, f := range report.Explain(found, service).Findings {
		text += "; " + f.About + ": " + f.Message
	}
	return text
}
