package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/docs"
	"github.com/atoll-mcs/atoll/test/pages"
)

// An API server and its admission policies accept every manifest of the documentation.
func TestDocumentedManifests(t *testing.T) {
	const ns = "documented"
	namespace(t, ns, "c1", lab.Broker)
	all, err := pages.Read("../..")
	noError(t, err)
	tried := 0
	for _, page := range all {
		for _, block := range page.Blocks {
			if block.Language != "yaml" || block.Untried {
				continue
			}
			objects, err := docs.Objects(block)
			if err != nil {
				t.Errorf("%s: %v", block.At(), err)
			}
			for _, o := range objects {
				if err := accepted(t, ns, o); err != nil {
					t.Errorf("%s: %v", block.At(), err)
				}
				tried++
			}
		}
	}
	if tried < 5 {
		t.Errorf("only %d manifests", tried)
	}
}

// accepted sends an object to its API server, in a namespace of the test, and returns the
// error.
func accepted(t *testing.T, namespace string, o client.Object) error {
	cluster := "c1"
	switch o := o.(type) {
	case *networkingv1alpha1.MultiClusterService:
		cluster = lab.Broker
		beside := service(namespace, o.Name, 80)
		create(t, cluster, beside)
		defer remove(t, cluster, beside)
		o.Namespace = namespace
		eventually(t, "MultiClusterService "+o.Name+" is accepted", func() error { // the hub sees the Service a moment later
			return on[cluster].Create(t.Context(), o.DeepCopy(), client.DryRunAll)
		})
		return nil
	case *corev1.ConfigMap:
		cluster = lab.Broker // member permissions are on the broker
	default:
		if namespaced, err := on[cluster].IsObjectNamespaced(o); err != nil {
			return err
		} else if namespaced {
			o.SetNamespace(namespace)
		}
	}
	err := on[cluster].Create(t.Context(), o, client.DryRunAll)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// kubectl has every flag that the documentation uses.
func TestDocumentedFlagsOfKubectl(t *testing.T) {
	help := func(words ...string) string {
		output, err := exec.CommandContext(t.Context(), filepath.Join(theLab.Spec.Programs, "kubectl"), words...).CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", words, err, output)
		}
		return string(output)
	}
	below := map[string][]string{"create": {"quota", "clusterrole", "clusterrolebinding", "configmap", "deployment", "namespace"}, "rollout": {"status"}}
	for verb, flags := range docs.KubectlFlags {
		text := ""
		if verb == "" {
			text = help("options")
		} else {
			text = help(verb, "--help")
		}
		for _, kind := range below[verb] {
			text += help(verb, kind, "--help")
		}
		for flag := range flags {
			single := []string{flag}
			if !strings.HasPrefix(flag, "--") && len(flag) > 2 { // several letters together
				single = nil
				for _, letter := range flag[1:] {
					single = append(single, "-"+string(letter))
				}
			}
			for _, f := range single {
				if !strings.Contains(text, "\n    "+f+"=") && !strings.Contains(text, "\n    "+f+", --") && !strings.Contains(text, ", "+f+"=") {
					t.Errorf("kubectl %s has no flag %s", verb, f)
				}
			}
		}
	}
}
