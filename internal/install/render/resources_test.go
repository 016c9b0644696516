package render

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestParseResources(t *testing.T) {
	text := func(r corev1.ResourceRequirements) string {
		of := func(list corev1.ResourceList) string { return list.Cpu().String() + "," + list.Memory().String() }
		return of(r.Requests) + "/" + of(r.Limits)
	}
	for line, tt := range map[string]struct{ agent, dns, err string }{
		"": {"50m,128Mi/0,1Gi", "50m,64Mi/0,512Mi", ""},
		"limits.cpu=500m agent.requests.memory=256Mi": {"50m,256Mi/500m,1Gi", "50m,64Mi/500m,512Mi", ""},
		"limits.cpu=1 dns.limits.cpu=2":               {"50m,128Mi/1,1Gi", "50m,64Mi/2,512Mi", ""},
		"limits.memory=":                              {"50m,128Mi/0,0", "50m,64Mi/0,0", ""},
		"limits.memory=100Mi":                         {err: "atoll-agent would request 128Mi memory, but its limit is 100Mi"},
		"dns.requests.cpu=2 dns.limits.cpu=1":         {err: "atoll-dns would request 2 cpu, but its limit is 1"},
		"cpu=1":                                       {err: "does not have the form"},
		"hub.limits.cpu=1":                            {err: "does not have the form"},
		"limits.cpu":                                  {err: "does not have the form"},
		"limits.cpu=much":                             {err: "much is not a quantity"},
		"limits.cpu=-1":                               {err: "-1 is not a quantity"},
	} {
		r, err := ParseResources(strings.Fields(line))
		if tt.err != "" || err != nil {
			if tt.err == "" || err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %v, want %q", line, err, tt.err)
			}
			continue
		}
		if agent, dns := text(r.apply(AgentName, agentResources())), text(r.apply(DNSName, dnsResources())); agent != tt.agent || dns != tt.dns {
			t.Errorf("%q: %s and %s, want %s and %s", line, agent, dns, tt.agent, tt.dns)
		}
	}
}

// The Deployments have the resources and the agent's environment.
func TestDeploymentsHaveResourcesAndEnvironment(t *testing.T) {
	r, err := ParseResources([]string{"limits.cpu=500m"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deployments(t, Member{Resources: r, AgentEnv: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}}}) {
		c := d.Spec.Template.Spec.Containers[0]
		if got := c.Resources.Limits.Cpu().String(); got != "500m" {
			t.Errorf("%s: the CPU limit is %s", d.Name, got)
		}
		want := map[string]string{AgentName: "NODE_NAME= HTTPS_PROXY=http://proxy:3128", DNSName: ""}[d.Name]
		var got []string
		for _, variable := range c.Env {
			got = append(got, variable.Name+"="+variable.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: the environment is %s, want %s", d.Name, got, want)
		}
	}
}
