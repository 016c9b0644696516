package join

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/install/render"
)

// Invalid agent arguments are reported before a Deployment uses them.
func TestMemberFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		line string
		args []string // arguments of the agent
		err  string
	}{
		"nothing":               {"", nil, ""},
		"everything":            {"--region=eu --pod-cidr=10.1.0.0/16,10.2.0.0/16 --service-cidr=10.96.0.0/16,fd00::/108 --advertise-mode=cluster-ip --agent-arg=--lease-timeout=60s", []string{"--region=eu", "--pod-cidr=10.1.0.0/16", "--pod-cidr=10.2.0.0/16", "--service-cidr=10.96.0.0/16", "--service-cidr=fd00::/108", "--advertise-mode=cluster-ip", "--lease-timeout=60s"}, ""},
		"a preference":          {"--prefer=local", nil, ""},
		"no replicas":           {"--replicas=0", nil, "--replicas must be at least 1"},
		"no such mode":          {"--advertise-mode=vip", nil, "--advertise-mode"},
		"no such range":         {"--pod-cidr=10.1.0.0", nil, "--pod-cidr"},
		"no such Service range": {"--service-cidr=10.96", nil, "--service-cidr"},
		"no such argument":      {"--agent-arg=--lease-time=60s", nil, "the agent's arguments: unknown flag: --lease-time"},
		"an argument's value":   {"--agent-arg=--lease-timeout=1s", nil, "--lease-timeout: 1s is less than"},
		"no such resource":      {"--resources=cpu=1", nil, "--resources: \"cpu=1\" does not have the form"},
		"no variable":           {"--env=HTTPS_PROXY", nil, "--env: \"HTTPS_PROXY\" does not have the form NAME=VALUE"},
		"no name":               {"--env==x", nil, "does not have the form NAME=VALUE"},
		"a variable twice":      {"--env=A=1 --env=A=2", nil, "A is set twice"},
		"a flag that join sets": {"--agent-arg=--cluster-id=c1", nil, "--cluster-id: set this flag only together with --broker-kubeconfig"},
	} {
		var m MemberFlags
		flags := pflag.NewFlagSet("join", pflag.ContinueOnError)
		m.AddFlags(flags)
		if err := flags.Parse(strings.Fields(tc.line)); err != nil {
			t.Fatal(err)
		}
		var into render.Member
		err := m.Complete(&into)
		if tc.err == "" && (err != nil || !slices.Equal(into.AgentArgs, tc.args)) {
			t.Errorf("%s: %v, %v", name, into.AgentArgs, err)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: the error is %v, want %q", name, err, tc.err)
		}
	}
}

func TestMemberEnvironment(t *testing.T) {
	got, err := environment([]string{"HTTPS_PROXY=http://a:1/?b=c", "EMPTY="})
	if err != nil || len(got) != 2 || got[0].Name != "HTTPS_PROXY" || got[0].Value != "http://a:1/?b=c" || got[1].Name != "EMPTY" || got[1].Value != "" {
		t.Errorf("%v, %v", got, err)
	}
}
