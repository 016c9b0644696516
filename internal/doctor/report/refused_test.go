package report

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// TestExplainRefused: explain reports refusals by the cluster's owner and how to undo them.
func TestExplainRefused(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	annotated := func(s *survey.Survey, value string) {
		s.Cluster.Namespaces[0].Annotations = map[string]string{names.AnnotationRefuseImports: value}
	}
	flagged := func(s *survey.Survey, args ...string) {
		agent := s.Cluster.Deployments[render.AgentName]
		agent.Spec.Template.Spec.Containers = []corev1.Container{{Args: args}}
		s.Cluster.Deployments[render.AgentName] = agent
	}
	withoutC2 := func(s *survey.Survey) {
		s.Cluster.Imports[0].Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}}
		s.Cluster.Slices = s.Cluster.Slices[:1]
	}
	for name, c := range map[string]struct {
		with    func(*survey.Survey)
		verdict Verdict
		find    string
		do      string
		why     string // of c2
	}{
		"nothing": {func(*survey.Survey) {}, Works, "", "", ""},
		"c2 by the namespace": {
			func(s *survey.Survey) { withoutC2(s); annotated(s, "c9,c2") }, WorksInPart,
			"warning import The export of cluster c2 is not imported: annotation atoll.dev/refuse-imports of namespace shop refuses imports from the exporting cluster.",
			"kubectl annotate namespace shop atoll.dev/refuse-imports-", "annotation atoll.dev/refuse-imports of namespace shop refuses imports from the exporting cluster",
		},
		"c2 by the agent": {
			func(s *survey.Survey) {
				withoutC2(s)
				flagged(s, "-v", "--refuse-imports-from=c9", "--refuse-imports-from", "c2")
			}, WorksInPart,
			"warning import The export of cluster c2 is not imported: the flag --refuse-imports-from of this cluster's atoll-agent excludes the exporting cluster.", "Remove the exporting cluster from the flag --refuse-imports-from",
			"the flag --refuse-imports-from of this cluster's atoll-agent excludes the exporting cluster",
		},
		"c2 is the value of another flag": {
			func(s *survey.Survey) { flagged(s, "--region", "c2", "--refuse-imports-from", "c9", "c2") }, Works, "", "", "",
		},
		"all": {
			func(s *survey.Survey) { s.Cluster.Imports, s.Cluster.Slices = nil, nil; annotated(s, "*") }, DoesNotWork,
			"error import The export of cluster c1 is not imported: annotation atoll.dev/refuse-imports of namespace shop refuses imports from the exporting cluster", "kubectl annotate namespace shop", "annotation atoll.dev/refuse-imports of namespace shop refuses imports from the exporting cluster",
		},
		"an invalid annotation": {
			func(s *survey.Survey) { annotated(s, "C 2") }, WorksInPart,
			`warning import Annotation atoll.dev/refuse-imports of namespace shop has invalid entries, which are ignored: "C 2" is not a cluster id`, "kubectl annotate namespace shop --overwrite", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := clusterset()
			c.with(s)
			x := Explain(s, web)
			found, do := "", ""
			for _, f := range x.Findings {
				found += string(f.Severity) + " " + f.About + " " + f.Message + "\n"
				do += f.Do + "\n"
			}
			if x.Verdict != c.verdict || !strings.Contains(found, c.find) || !strings.Contains(do, c.do) || c.find == "" && found != "" {
				t.Errorf("verdict %s, want %s; findings\n%swant %q\nfixes\n%swant %q", x.Verdict, c.verdict, found, c.find, do, c.do)
			}
			for _, source := range x.Sources {
				if source.Cluster == "c2" && source.Reason != c.why {
					t.Errorf("reason for c2 is %q, want %q", source.Reason, c.why)
				}
			}
		})
	}
}
