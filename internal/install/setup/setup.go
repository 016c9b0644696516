// Package setup deploys brokers, creates join files, and joins and removes members. The commands of atoll and the lab
// use it.
//
// Every function can be repeated after an interruption and completes the remaining steps.
package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Say prints progress.
type Say func(format string, args ...any)

// Hint is an error with the next command to run.
type Hint struct {
	// Err is the problem.
	Err error
	// Next is the fix, in words, as a command, or both.
	Next string
}

// Error returns the problem, and the fix on a line of its own.
func (h *Hint) Error() string { return h.Err.Error() + "\n" + h.Next }

// Unwrap returns the problem.
func (h *Hint) Unwrap() error { return h.Err }

func hint(next, format string, args ...any) error {
	return &Hint{Err: fmt.Errorf(format, args...), Next: next}
}

// BrokerManifests returns a clusterset's CustomResourceDefinitions on its broker, and the objects that need them, with
// the setting exports.
func BrokerManifests(namespace string, exports DefaultExports) (crds, objects []*unstructured.Unstructured) {
	objects = install.Objects(rights.Objects(namespace)...)
	exports.addTo(objects)
	return withClusters(brokerCRDs()), objects
}

// DefaultExports is the namespaces that members without a setting of their own may export: all or none. The zero value
// keeps the broker's setting.
type DefaultExports string

// DefaultExportsUsage is the usage text of the flag.
const DefaultExportsUsage = "whether members without their own setting may export Services of all namespaces: allow or deny"

// Values of DefaultExports.
const (
	DefaultExportsAllow DefaultExports = "allow"
	DefaultExportsDeny  DefaultExports = "deny"
)

// Set implements pflag.Value.
func (d *DefaultExports) Set(text string) error {
	if *d = DefaultExports(text); *d != DefaultExportsAllow && *d != DefaultExportsDeny {
		return fmt.Errorf("the value must be %s or %s", DefaultExportsAllow, DefaultExportsDeny)
	}
	return nil
}

// String implements pflag.Value.
func (d *DefaultExports) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *DefaultExports) Type() string { return "string" }

// Namespaces returns the namespaces that members may export.
func (d DefaultExports) Namespaces() permissions.Namespaces {
	var set permissions.Namespaces
	if d == DefaultExportsAllow {
		set, _ = permissions.ParseNamespaces("*")
	}
	return set
}

func (d DefaultExports) addTo(objects []*unstructured.Unstructured) {
	for _, o := range objects {
		if d != "" && o.GetKind() == "ConfigMap" && o.GetName() == names.MemberPermissions {
			o.Object["data"] = map[string]any{permissions.NamespacesKey(permissions.Default): d.Namespaces().String()}
		}
	}
}

// brokerCRDs returns the upstream definitions that a broker needs.
func brokerCRDs() []*unstructured.Unstructured { return install.MustParse(deploy.BrokerCRDs()...) }

// CheckClusterset returns an error unless a clusterset may have that namespace.
func CheckClusterset(namespace string) error {
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return hint("Choose another name with --clusterset NAME", "%q is not the name of a namespace: %s", namespace, strings.Join(problems, "; "))
	}
	if strings.HasPrefix(namespace, "kube-") || namespace == corev1.NamespaceDefault {
		return hint("Choose a dedicated namespace for the clusterset with --clusterset NAME",
			"members of a clusterset may write EndpointSlices and Leases in its namespace, so the namespace cannot be %s", namespace)
	}
	return nil
}

// DeployBroker creates a clusterset: a namespace on an API server with its objects. One API server can hold several.
func DeployBroker(ctx context.Context, on *install.Target, namespace string, replaceCRDs bool) error {
	if err := CheckClusterset(namespace); err != nil {
		return err
	}
	if err := supported(on); err != nil {
		return err
	}
	crds, objects := BrokerManifests(namespace, "")
	if err := on.Rights(ctx, []string{"create", "patch", "update"}, slices.Concat(crds, objects)...); err != nil {
		return err
	}
	have, err := on.Namespace(ctx, namespace)
	if err != nil {
		return fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	if have != nil && have.Labels[names.LabelClusterset] == "" {
		return hint("Choose another name with --clusterset NAME. If the namespace is not used for anything else, you can mark it as a clusterset: "+on.On.Kubectl("label namespace %s %s=%s", namespace, names.LabelClusterset, namespace),
			"namespace %s already exists, and does not belong to a clusterset", namespace)
	}
	if have != nil && have.DeletionTimestamp != nil {
		return hint("Wait until the namespace is deleted, then try again", "namespace %s is being deleted", namespace)
	}
	if err := on.CRDs(ctx, crds, replaceCRDs); err != nil {
		return err
	}
	if err := on.Apply(ctx, objects...); err != nil {
		return err
	}
	return restoreLimits(ctx, on, namespace)
}

// clusterset checks that a namespace on the broker is a clusterset.
func clusterset(ctx context.Context, on *install.Target, namespace string) error {
	have, err := on.Namespace(ctx, namespace)
	if err != nil {
		return fmt.Errorf("reading namespace %s on the broker: %w", namespace, err)
	}
	if have != nil && have.Labels[names.LabelClusterset] != "" {
		return nil
	}
	others := ""
	if found, err := clustersets(ctx, on); err == nil && len(found) > 0 {
		others = fmt.Sprintf(". The existing clustersets are %s", strings.Join(found, ", "))
	}
	return hint("Choose an existing clusterset with --clusterset NAME, or create the clusterset: "+on.On.Atoll("broker deploy --clusterset %s", namespace),
		"there is no clusterset %s on the API server %s%s", namespace, on.Config.Host, others)
}

// clustersets returns the clustersets on an API server.
func clustersets(ctx context.Context, on *install.Target) (found []string, err error) {
	all := &corev1.NamespaceList{}
	if err := on.List(ctx, all, client.HasLabels{names.LabelClusterset}); err != nil {
		return nil, fmt.Errorf("reading namespaces: %w", err)
	}
	for _, n := range all.Items {
		found = append(found, n.Name)
	}
	return found, nil
}
