// Package setup installs clustersets and members: it deploys a broker, creates join files, joins clusters, and
// removes members. The commands of atoll, and the lab, do it with this.
//
// Every function can be repeated, after it was interrupted too: it does what is left to do.
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

// Say tells a person what is being done.
type Say func(format string, args ...any)

// Hint is an error with the command to run next.
type Hint struct {
	// Err is what is wrong.
	Err error
	// Next says what to do about it, in words, a command or both.
	Next string
}

// Error is what is wrong, and in a line of its own what to do.
func (h *Hint) Error() string { return h.Err.Error() + "\n" + h.Next }

// Unwrap returns what is wrong.
func (h *Hint) Unwrap() error { return h.Err }

func hint(next, format string, args ...any) error {
	return &Hint{Err: fmt.Errorf(format, args...), Next: next}
}

// BrokerManifests returns what a clusterset needs on its broker: custom resource definitions,
// and the objects that need those, with the setting exports in them.
func BrokerManifests(namespace string, exports DefaultExports) (crds, objects []*unstructured.Unstructured) {
	objects = install.Objects(rights.Objects(namespace)...)
	exports.addTo(objects)
	return withClusters(brokerCRDs()), objects
}

// DefaultExports is which namespaces a broker lets members export that have no setting of their own: all or none. The zero value
// is what the broker has.
type DefaultExports string

// DefaultExportsUsage explains the flag with the setting.
const DefaultExportsUsage = "whether members without their own setting may export all namespaces: allow or deny"

// The values of DefaultExports.
const (
	DefaultExportsAllow DefaultExports = "allow"
	DefaultExportsDeny  DefaultExports = "deny"
)

// Set implements pflag.Value.
func (d *DefaultExports) Set(text string) error {
	if *d = DefaultExports(text); *d != DefaultExportsAllow && *d != DefaultExportsDeny {
		return fmt.Errorf("it is %s or %s", DefaultExportsAllow, DefaultExportsDeny)
	}
	return nil
}

// String implements pflag.Value.
func (d *DefaultExports) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *DefaultExports) Type() string { return "string" }

// Namespaces are those that members may export.
func (d DefaultExports) Namespaces() permissions.Namespaces {
	var set permissions.Namespaces
	if d == DefaultExportsAllow {
		set, _ = permissions.ParseNamespaces("*")
	}
	return set
}

// addTo adds the setting to a broker's manifests.
func (d DefaultExports) addTo(objects []*unstructured.Unstructured) {
	for _, o := range objects {
		if d != "" && o.GetKind() == "ConfigMap" && o.GetName() == names.MemberPermissions {
			o.Object["data"] = map[string]any{permissions.NamespacesKey(permissions.Default): d.Namespaces().String()}
		}
	}
}

// brokerCRDs are the definitions that a broker needs, as they are upstream.
func brokerCRDs() []*unstructured.Unstructured { return install.MustParse(deploy.BrokerCRDs()...) }

// CheckClusterset returns an error unless a namespace of that name can be a clusterset's.
func CheckClusterset(namespace string) error {
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return hint("choose another one: --clusterset NAME", "%q is not the name of a namespace: %s", namespace, strings.Join(problems, "; "))
	}
	if strings.HasPrefix(namespace, "kube-") || namespace == corev1.NamespaceDefault {
		return hint("choose a namespace of the clusterset's own: --clusterset NAME",
			"members of a clusterset may write EndpointSlices and Leases in its namespace, so it can't be %s", namespace)
	}
	return nil
}

// DeployBroker makes a clusterset: a namespace of that name on an API server, and what
// belongs to it. One API server holds any number of them.
func DeployBroker(ctx context.Context, on *install.Target, namespace string, replaceCRDs bool) error {
	if err := CheckClusterset(namespace); err != nil {
		return err
	}
	if err := supported(on); err != nil {
		return err
	}
	crds, objects := BrokerManifests(namespace, "")
	if err := on.Rights(ctx, []string{"create", "patch"}, slices.Concat(crds, objects)...); err != nil {
		return err
	}
	have, err := on.Namespace(ctx, namespace)
	if err != nil {
		return fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	if have != nil && have.Labels[names.LabelClusterset] == "" {
		return hint("Choose another one with --clusterset NAME, or, if nothing else is in it, mark it: "+on.On.Kubectl("label namespace %s %s=%s", namespace, names.LabelClusterset, namespace),
			"namespace %s exists and is not a clusterset's", namespace)
	}
	if have != nil && have.DeletionTimestamp != nil {
		return hint("wait until it is gone, then try again", "namespace %s is being deleted", namespace)
	}
	if err := on.CRDs(ctx, crds, replaceCRDs); err != nil {
		return err
	}
	return on.Apply(ctx, objects...)
}

// clusterset makes sure that a namespace on the broker is a clusterset's.
func clusterset(ctx context.Context, on *install.Target, namespace string) error {
	have, err := on.Namespace(ctx, namespace)
	if err != nil {
		return fmt.Errorf("reading namespace %s on the broker: %w", namespace, err)
	}
	if have != nil && have.Labels[names.LabelClusterset] != "" {
		return nil
	}
	all := &corev1.NamespaceList{}
	others := ""
	if on.List(ctx, all, client.HasLabels{names.LabelClusterset}) == nil && len(all.Items) > 0 {
		var found []string
		for _, n := range all.Items {
			found = append(found, n.Name)
		}
		others = "; there are: " + strings.Join(found, ", ")
	}
	return hint("Choose one with --clusterset NAME, or make this one: "+on.On.Atoll("broker deploy --clusterset %s", namespace),
		"there is no clusterset %s on the API server %s%s", namespace, on.Config.Host, others)
}
