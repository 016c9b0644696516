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
		if d, ok := s.Cluster.Deployments[render.AgentName]; ok && len(d.Spec.Template.Spec.Containers) > 0 {
			return d.Spec.Template.Spec.Containers[0].Image
		}
	}
	return render.Member{}.AgentImage()
}
