// Command generate generates the Helm charts' CustomResourceDefinitions and templates from the code that the
// commands use. So charts and commands can't differ. What is chosen by values stands in what the code makes as a
// placeholder, and becomes a template's action.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/deploy/monitoring"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const usage = `usage: go run ./charts/generate [FOLDER]          (or: make generate)

Writes the generated files of the Helm charts in FOLDER. The default folder is "charts".
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	folder := "charts"
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		fmt.Fprint(stdout, usage)
		return 0
	case len(args) == 1:
		folder = args[0]
	case len(args) > 1:
		fmt.Fprint(stderr, usage)
		return 64
	}
	files, err := generated()
	if err == nil {
		err = write(folder, files)
	}
	if err != nil {
		fmt.Fprintln(stderr, "charts/generate:", err)
		return 1
	}
	return 0
}

// write writes files, by their paths below a folder.
func write(folder string, files map[string]string) error {
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generated are all files, by their paths.
func generated() (map[string]string, error) {
	files := map[string]string{}
	for _, c := range []func() chart{agentChart, brokerChart, hubChart} {
		if err := c().files(files); err != nil {
			return nil, err
		}
	}
	files["atoll-agent/files/alerts.yaml"], files["atoll-agent/files/dashboard.json"] = monitoring.Alerts, monitoring.Dashboard
	files["atoll-broker/files/alerts.yaml"], files["atoll-hub/files/alerts.yaml"] = monitoring.BrokerAlerts, monitoring.HubAlerts
	return files, nil
}

// agentChart is what atoll join applies, but for the membership.
func agentChart() chart {
	member := render.Member{Registry: registry, Tag: tag, Replicas: replicas, AgentArgs: []string{arguments}}
	crds, _ := setup.MemberManifests(member, placeholder, placeholder, false)
	return chart{
		name: "atoll-agent", crds: crds, choices: []string{`eq .Values.prefer "local"`},
		objects: once(func(chosen []bool) []*unstructured.Unstructured {
			member := member
			if chosen[0] {
				member.Prefer = render.PreferLocal
			}
			_, objects := setup.MemberManifests(member, placeholder, placeholder, false)
			return objects
		}),
		values:    map[string]string{render.AgentName: ".Values.agent", render.DNSName: ".Values.dns"},
		arguments: map[string]string{render.AgentName: agentArguments},
		namespace: fmt.Sprintf("ne .Release.Namespace %q", names.SystemNamespace),
	}
}

// brokerChart is what atoll broker deploy applies.
func brokerChart() chart {
	crds, _ := setup.BrokerManifests(placeholder, "")
	return chart{
		name: "atoll-broker", crds: crds, namespace: ".Values.createNamespace", choices: []string{".Values.defaultExports"},
		objects: once(func(chosen []bool) []*unstructured.Unstructured {
			exports := setup.DefaultExports("")
			if chosen[0] {
				exports = setup.DefaultExportsAllow
			}
			_, objects := setup.BrokerManifests(placeholder, exports)
			return objects
		}),
	}
}

// hubChart is what atoll hub deploy applies: with load balancers the hub gets something more, and so it is with HAProxy beside it, and in its
// nodes' network.
func hubChart() chart {
	crds, _ := render.Hub{}.Manifests()
	return chart{
		name: "atoll-hub", crds: crds,
		choices: []string{".Values.haproxyImage", ".Values.hostNetwork", ".Values.lowPorts", `include "atoll-hub.balances" .`},
		objects: once(func(chosen []bool) []*unstructured.Unstructured {
			hub := render.Hub{
				Clusterset: placeholder, Registry: registry, Tag: tag, Replicas: replicas, Args: []string{arguments},
				HostNetwork: chosen[1], LowPorts: chosen[2],
			}
			if chosen[0] {
				hub.HAProxyImage = haproxyImage
			}
			if chosen[3] {
				hub.Args = append(hub.Args, "--lb-addresses="+placeholder)
			}
			_, objects := hub.Manifests()
			return objects
		}),
		values:    map[string]string{render.HubName: ".Values"},
		arguments: map[string]string{render.HubName: hubArguments},
		namespace: fmt.Sprintf("ne .Release.Namespace %q", names.HubNamespace),
	}
}
