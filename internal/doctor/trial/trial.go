// Package trial contains code that verify and bench share. It finds the members under test, and why a Service is not
// imported.
package trial

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Member is a cluster under test.
type Member struct {
	// Context is the kubeconfig context for messages, ID the member's ID.
	Context string
	ID      names.ClusterID
	Config  *rest.Config
	// Broker locates the broker for this program.
	Broker credential.Locate
	// Image is atoll-agent's image for the pods.
	Image string
	// Survey is the state at the start, or nil.
	Survey *survey.Survey
}

// Read reads the membership of a cluster. It fails if the cluster is not a member.
func Read(ctx context.Context, kubeContext string, on command.Cluster, config *rest.Config, broker credential.Locate) (Member, error) {
	// The system namespace has no exports, so this reads few endpoints from the broker, but still the permitted
	// ranges.
	found, err := survey.Read(ctx, config, survey.Scope{Installation: true, Endpoints: true, Namespace: names.SystemNamespace, Broker: broker, On: on})
	if err != nil {
		return Member{}, err
	}
	if found.ClusterID == "" {
		return Member{}, fmt.Errorf("%w. To check whether the cluster can join: %s", survey.ErrNotJoined, on.Atoll("check --pre"))
	}
	return Member{Context: kubeContext, ID: found.ClusterID, Config: config, Broker: broker, Survey: found}, nil
}

// Explain returns atoll explain's findings about a Service in the member as the end of a sentence. It is empty on an
// error.
func (m Member) Explain(ctx context.Context, service types.NamespacedName) string {
	found, err := survey.Read(context.WithoutCancel(ctx), m.Config, survey.Scope{
		Namespace: service.Namespace, Service: service.Name, Endpoints: true, Installation: true, Broker: m.Broker, On: m.Survey.On,
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
