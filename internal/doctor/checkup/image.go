package checkup

import (
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

// Image is the image of the pods: the given one, the agents' in the cluster, or the released one.
func Image(s *survey.Survey, given string) string {
	if given != "" {
		return given
	}
	if s != nil {
		if running := survey.Image(s.Cluster.Deployments[render.AgentName].Spec.Template.Spec); running != "" {
			return running
		}
	}
	return render.Member{}.AgentImage()
}
