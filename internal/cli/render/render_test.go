package render

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
)

// run runs a command line of atoll render and returns its output.
func run(t *testing.T, stdin io.Reader, line string) (string, error) {
	t.Helper()
	command := NewCommand()
	var stdout bytes.Buffer
	command.SetArgs(strings.Fields(line))
	command.SetIn(stdin)
	command.SetOut(&stdout)
	command.SetErr(io.Discard)
	command.SilenceUsage = true
	err := command.ExecuteContext(t.Context())
	return stdout.String(), err
}

// rendered returns the output of a command line as objects.
func rendered(t *testing.T, line string) []*unstructured.Unstructured {
	t.Helper()
	text, err := run(t, nil, line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	objects, err := install.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func named(objects []*unstructured.Unstructured) (all []string) {
	for _, o := range objects {
		all = append(all, install.Name(o))
	}
	return all
}

// The rendered objects equal those that the commands apply, with their label.
func TestTheSameAsTheCommands(t *testing.T) {
	member := render.Member{Registry: "registry.test/mirror", Tag: "v9", Replicas: 3, AgentArgs: []string{"--region=eu", "--lease-timeout=60s"}}
	for line, manifests := range map[string]func() (crds, objects []*unstructured.Unstructured){
		"broker --clusterset staging": func() (_, _ []*unstructured.Unstructured) { return setup.BrokerManifests("staging", "") },
		"member --cluster-id c1 --clusterset staging --registry registry.test/mirror --tag v9 --replicas 3 --region eu --agent-arg --lease-timeout=60s": func() (_, _ []*unstructured.Unstructured) {
			return setup.MemberManifests(member, "c1", "staging", false)
		},
		"member --cluster-id c1.eu --on-broker --no-workloads": func() (_, _ []*unstructured.Unstructured) {
			return setup.MemberManifests(render.Member{NoWorkloads: true}, "c1.eu", "atoll-clusterset", true)
		},
		"hub --hub-arg --lb-addresses=192.0.2.1": func() (_, _ []*unstructured.Unstructured) {
			return render.Hub{Clusterset: "atoll-clusterset", Args: []string{"--lb-addresses=192.0.2.1"}}.Manifests()
		},
	} {
		crds, objects := manifests()
		want := slices.Concat(crds, objects)
		got := rendered(t, line)
		if diff := cmp.Diff(named(want), named(got)); diff != "" {
			t.Fatalf("%s (-command +rendered):\n%s", line, diff)
		}
		for i, o := range want {
			// The comparison goes through YAML, like a file.
			text := &bytes.Buffer{}
			if err := install.Write(text, install.Marked(o)); err != nil {
				t.Fatal(err)
			}
			same, err := install.Parse(text.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(same[0].Object, got[i].Object); diff != "" {
				t.Errorf("%s: %s (-command +rendered):\n%s", line, install.Name(o), diff)
			}
			if got[i].GetLabels()[install.LabelManagedBy] != install.ManagedBy {
				t.Errorf("%s: %s lacks the label of objects that Atoll manages", line, install.Name(o))
			}
		}
	}
}

// The command overwrites its own directory, but no files of other tools.
func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 {
		if stdout, err := run(t, nil, "broker --output-dir "+dir); err != nil || stdout != "" {
			t.Fatalf("%q, %v", stdout, err)
		}
	}
	want := map[string]string{"broker.yaml": "kind: Role\n", "crds.yaml": "kind: CustomResourceDefinition\n", "kustomization.yaml": "- crds.yaml\n- broker.yaml\n"}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%v, %v", entries, err)
	}
	for name, part := range want {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), part) || !strings.HasPrefix(string(text), "# Written by atoll render broker, ") {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
	if _, err := run(t, nil, "hub --output-dir "+dir); err == nil || !strings.Contains(err.Error(), "choose another directory") {
		t.Errorf("the directory of another command was overwritten: %v", err)
	}
	if _, err := run(t, nil, "broker -o json"); err != nil {
		t.Error(err)
	}
}

// Invalid arguments are reported before the command writes anything.
func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		"broker --clusterset kube-system":         "cannot be kube-system",
		"broker --clusterset A_B":                 "not the name of a namespace",
		"member":                                  "--cluster-id: the cluster id is missing",
		"member --cluster-id C1":                  "is not a DNS label",
		"member --cluster-id c1 --replicas 0":     "at least 1",
		"hub --clusterset default":                "cannot be default",
		"secret -":                                "the join file is empty",
		"dns --server 10.96.0.53 --from /no/file": "no such file",
		"dns --server x":                          "not an IP address",
	} {
		stdout, err := run(t, strings.NewReader(""), line)
		if err == nil || !strings.Contains(err.Error(), want) || stdout != "" {
			t.Errorf("%s: %q, %v; want %q", line, stdout, err, want)
		}
	}
}

const corefile = `apiVersion: v1
kind: ConfigMap
metadata:
  name: coredns
  namespace: kube-system
  uid: 0f1c
  resourceVersion: "5"
data:
  Corefile: |
    .:53 {
        errors
        kubernetes cluster.local
    }
`

// A cluster's DNS configuration in a file is edited like the cluster's own.
func TestDNSFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "coredns.yaml")
	if err := os.WriteFile(file, []byte(corefile), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the output is valid input
		objects := rendered(t, "dns --server 10.96.0.53 --from "+file)
		if len(objects) != 1 || install.Name(objects[0]) != "ConfigMap kube-system/coredns" {
			t.Fatalf("%v", named(objects))
		}
		text, _, _ := unstructured.NestedString(objects[0].Object, "data", "Corefile")
		if !strings.Contains(text, "kubernetes cluster.local") || strings.Count(text, "forward . 10.96.0.53") != 1 {
			t.Errorf("the Corefile is\n%s", text)
		}
		if objects[0].GetUID() != "" || objects[0].GetResourceVersion() != "" {
			t.Error("the object has fields that only the API server sets")
		}
		out := &bytes.Buffer{}
		if err := install.Write(out, objects...); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const lighthouse = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: coredns, namespace: kube-system}
data:
  Corefile: |
    .:53 {
        kubernetes cluster.local
    }
    import custom/*.server
---
apiVersion: v1
kind: ConfigMap
metadata: {name: coredns-custom, namespace: kube-system, annotations: {atoll.dev/dns-wiring: '{"made":["object"]}'}}
data:
`

// kubectl apply keeps keys that another tool has written and that the output lacks, so that CoreDNS would have two server
// blocks for a zone.
func TestDNSRemovedKeysAreRendered(t *testing.T) {
	for key, block := range map[string]string{
		"lighthouse.server": "clusterset.local:53 {\\n forward . 10.0.0.1\\n}\\n",
		"atoll.server":      "# BEGIN atoll\\nclusterset.local:53 {\\n forward . 10.96.0.53\\n}\\n# END atoll\\n",
	} {
		file := filepath.Join(t.TempDir(), "dns.yaml")
		if err := os.WriteFile(file, []byte(lighthouse+"  "+key+": \""+block+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		objects := rendered(t, "dns --server 10.96.0.53 --replace-lighthouse --provider coredns --from "+file)
		if len(objects) != 2 || objects[0].GetName() != "coredns-custom" || objects[1].GetName() != "coredns" {
			t.Fatalf("%s: %v", key, named(objects))
		}
		if text, found, _ := unstructured.NestedString(objects[0].Object, "data", key); !found || text != "" {
			t.Errorf("%s is %q, %v", key, text, found)
		}
		out := &bytes.Buffer{}
		if err := install.Write(out, objects...); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if objects = rendered(t, "dns --server 10.96.0.53 --provider coredns-custom --from "+file); len(objects) == 0 {
			t.Errorf("%s: the output is not valid input", key)
		}
	}
}

// kubectl get writes several objects as a List.
func TestDNSFromAList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dns.yaml")
	text := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(corefile), "\n", "\n  ") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if objects := rendered(t, "dns --server 10.96.0.53 --from "+file); len(objects) != 1 || objects[0].GetName() != "coredns" {
		t.Errorf("%v", named(objects))
	}
}
