package integration

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/test/planes"
)

// wired matches files with the DNS configurations of Kubernetes distributions that
// TestDNSWiring wires.
const wired = "../../internal/install/dnswiring/testdata/*.txtar"

// TestDNSWiring wires the DNS of each configuration with `atoll dns`. The API server accepts
// the result, a second run writes nothing, and unwiring restores the original for every reader.
func TestDNSWiring(t *testing.T) {
	server := dnsService(t)
	installOpenShiftCRD(t)
	files, err := filepath.Glob(wired)
	if err != nil || len(files) < 10 {
		t.Fatalf("found only %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			noError(t, err)
			if strings.Contains(string(archive.Files[0].Data), "# BEGIN atoll") {
				return // already wired, so unwiring does not restore the file
			}
			objects := createAll(t, archive.Files[0].Data)
			was := stateOf(t, objects)

			_, want, _ := strings.Cut(string(archive.Files[1].Data), "---")
			want = strings.ReplaceAll("---"+want, "10.96.0.53", server)
			if diff := cmp.Diff(want, atollDNS(t, "install --dry-run")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(stateOf(t, objects), was); diff != "" {
				t.Errorf("after install --dry-run: %s", diff)
			}
			if said := atollDNS(t, "install"); !strings.Contains(said, " changed") && !strings.Contains(said, "created") {
				t.Errorf("the first time: %s", said)
			}
			is := dnsVersions(t)
			if said := atollDNS(t, "install"); strings.Contains(said, " changed") || strings.Contains(said, "created") {
				t.Errorf("a second time: %s", said)
			}
			if diff := cmp.Diff(is, dnsVersions(t)); diff != "" {
				t.Errorf("the second run wrote: %s", diff)
			}
			atollDNS(t, "uninstall")
			if diff := cmp.Diff(was, stateOf(t, objects)); diff != "" {
				t.Errorf("in the end: %s", diff)
			}
			if said := atollDNS(t, "uninstall"); said != "" {
				t.Errorf("uninstalled twice: %s", said)
			}
		})
	}
}

// dnsService creates a Service of atoll-dns and returns its cluster IP.
func dnsService(t *testing.T) string {
	t.Helper()
	service := service("atoll-system", "atoll-dns", 53)
	create(t, "c1", service)
	t.Cleanup(func() { removeNow(t, service) })
	return service.Spec.ClusterIP
}

// installOpenShiftCRD installs the CRD of OpenShift's DNS operator, with the part of the schema
// about servers.
func installOpenShiftCRD(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile("testdata/dns.operator.openshift.io.yaml")
	noError(t, err)
	config, err := theLab.RESTConfig("c1")
	noError(t, err)
	crd := &unstructured.Unstructured{}
	noError(t, yaml.Unmarshal(data, &crd.Object))
	noError(t, on["c1"].Create(t.Context(), crd))
	t.Cleanup(func() { removeNow(t, crd) })
	eventually(t, "the kind of OpenShift's DNS operator", func() error {
		fresh, err := client.New(config, client.Options{}) // knows the kinds of now
		if err != nil {
			return err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1", Kind: "DNSList"})
		return fresh.List(t.Context(), list)
	})
}

// createAll creates the objects of a YAML stream in c1 and deletes them after the test.
func createAll(t *testing.T, stream []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(string(stream), "---\n") {
		o := &unstructured.Unstructured{}
		noError(t, yaml.Unmarshal([]byte(text), &o.Object))
		if o.GetKind() == "Deployment" {
			o.Object["spec"] = map[string]any{
				"selector": map[string]any{"matchLabels": map[string]any{"k8s-app": "kube-dns"}},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"k8s-app": "kube-dns"}},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "kubedns", "image": "kubedns"}}},
				},
			}
		}
		o.SetFinalizers(nil) // no controller would remove them
		noError(t, on["c1"].Create(t.Context(), o))
		t.Cleanup(func() { removeNow(t, o) })
		objects = append(objects, o)
	}
	return objects
}

func removeNow(t *testing.T, o client.Object) {
	ctx := context.WithoutCancel(t.Context())
	if err := on["c1"].Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	eventually(t, "deleting "+o.GetName(), func() error {
		return planes.IsGone(on["c1"].Get(ctx, client.ObjectKeyFromObject(o), o))
	})
}

// stateOf returns the content of the objects, and the names of all ConfigMaps.
func stateOf(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(dnsVersions(t))) {
		if strings.HasPrefix(name, "coredns") {
			b.WriteString("# " + name + "\n")
		}
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			continue // a Deployment's status changes
		}
		planes.Read(t, on["c1"], o)
		o := o.DeepCopy()
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		o.SetGeneration(0)
		data, err := yaml.Marshal(o.Object)
		noError(t, err)
		b.Write(data)
	}
	return b.String()
}

// dnsVersions returns the resource versions of every object that the command could write.
func dnsVersions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	list := &corev1.ConfigMapList{}
	noError(t, on["c1"].List(t.Context(), list, client.InNamespace("kube-system")))
	for _, cm := range list.Items {
		all[cm.Name] = cm.ResourceVersion
	}
	dnses := &unstructured.UnstructuredList{}
	dnses.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1", Kind: "DNSList"})
	noError(t, on["c1"].List(t.Context(), dnses))
	for _, o := range dnses.Items {
		all["openshift "+o.GetName()] = o.GetResourceVersion()
	}
	return all
}

// atollDNS runs atoll dns in c1 and returns its output.
func atollDNS(t *testing.T, line string) string {
	t.Helper()
	return planes.Must(t, "", "dns "+line+" --context c1 --kubeconfig "+theLab.Kubeconfig())
}

// TestDNSWiringAgainstOthers edits objects that another writer changes at the same time. No
// change is lost.
func TestDNSWiringAgainstOthers(t *testing.T) {
	server := dnsService(t)
	cm := createAll(t, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: coredns, namespace: kube-system}\ndata: {Corefile: \".:53 {\\n reload\\n kubernetes cluster.local\\n}\\n\"}\n"))[0]
	config, err := theLab.RESTConfig("c1")
	noError(t, err)
	c, err := client.New(config, client.Options{})
	noError(t, err)
	servers, err := clusterdns.Servers(t.Context(), c)
	if err != nil || len(servers) != 1 || servers[0].String() != server {
		t.Fatalf("the servers are %v, %v", servers, err)
	}
	install := clusterdns.Install(dnswiring.Wiring{Zones: []string{"clusterset.local"}, Servers: servers}, nil)
	decided := 0
	changes, err := clusterdns.Edit(t.Context(), c, client.ObjectKey{}, func(found dnswiring.Cluster) ([]dnswiring.Change, error) {
		decided++
		switch decided {
		case 1: // edited in between
			other := found.CoreDNS.DeepCopy()
			other.Data["Corefile"] = "# other\n" + other.Data["Corefile"]
			noError(t, c.Update(t.Context(), other))
		case 2: // deleted in between, and made again
			noError(t, c.Delete(t.Context(), found.CoreDNS.DeepCopy()))
			again := found.CoreDNS.DeepCopy()
			again.ResourceVersion, again.UID = "", ""
			noError(t, c.Create(t.Context(), again))
		}
		return install(found)
	}, false)
	if err != nil || decided != 3 || len(changes) != 1 || changes[0].None() {
		t.Fatalf("decided %d times, did %v, %v", decided, changes, err)
	}
	noError(t, c.Get(t.Context(), client.ObjectKeyFromObject(cm), cm))
	text, _, _ := unstructured.NestedString(cm.Object, "data", "Corefile")
	if !strings.HasPrefix(text, "# other\n.:53") || !strings.Contains(text, "forward . "+server) {
		t.Errorf("the Corefile is %q", text)
	}
}
