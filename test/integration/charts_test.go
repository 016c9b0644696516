package integration

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/charts"
	"github.com/atoll-mcs/atoll/test/planes"
)

// An API server accepts every object of the charts, also with values that only the charts have.
func TestChartsAreValid(t *testing.T) {
	const pod = ".nodeSelector.pool=infra,X.tolerations[0].key=infra,X.podAnnotations.a=b,X.resources.limits.memory=2Gi"
	for cluster, chart := range map[string]string{
		"c1":       "atoll-agent --set clusterID=c1,global.image.pullSecrets[0].name=regcred,agent" + strings.ReplaceAll(pod, "X", "agent") + ",dns" + strings.ReplaceAll(pod, "X", "dns"),
		lab.Broker: "atoll-broker --set hub.enabled=true,hub.hostNetwork=true,hub.lowPorts=true,hub.haproxyImage=haproxy:2.6,hub" + strings.ReplaceAll(pod, "X", "hub"),
	} {
		words := strings.Fields(chart)
		objects, err := charts.Objects(t.Context(), words[0], words[1:]...)
		noError(t, err)
		if len(objects) < 20 {
			t.Errorf("%s: only %d objects", chart, len(objects))
		}
		target := planes.Target(t, theLab, cluster)
		for _, o := range objects {
			if err := target.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.ForceOwnership, client.FieldOwner("helm"), client.DryRunAll); err != nil {
				t.Errorf("%s: %s: %v", words[0], install.Name(o), err)
			}
		}
	}
}
