// Package dnswiring decides how to change a cluster's DNS configuration so that it forwards the clusterset's
// zones to atoll-dns, and how to undo it. docs/reference/dns.md describes the forms.
//
// In a Corefile whatever is outside of the marked part stays as it is, byte for byte, and
// uninstalling gives back what was there before. The stub domains of kube-dns, which are JSON,
// are written anew.
package dnswiring

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// Form is a place where a cluster's DNS can be told of a zone.
type Form string

// The forms. A cluster can have several.
const (
	// CoreDNS is a server block in the Corefile of the ConfigMap coredns: kubeadm, kind,
	// EKS and most others.
	CoreDNS Form = "coredns"
	// CoreDNSCustom is a key of the ConfigMap coredns-custom, where the Corefile imports
	// such keys: AKS, k3s, DigitalOcean, Gardener.
	CoreDNSCustom Form = "coredns-custom"
	// OpenShift is an entry in spec.servers of the dns.operator.openshift.io default.
	OpenShift Form = "openshift"
	// KubeDNS is an entry in the stubDomains of the ConfigMap kube-dns: GKE.
	KubeDNS Form = "kube-dns"
	// NodeLocal is a server block in the Corefile of NodeLocal DNSCache, which asks the
	// cluster's DNS for nothing but the cluster's own zones.
	NodeLocal Form = "nodelocal"
)

// Forms are all forms, in the order in which they are dealt with.
func Forms() []Form { return []Form{OpenShift, KubeDNS, CoreDNS, CoreDNSCustom, NodeLocal} }

// Wiring is what a cluster's DNS is told.
type Wiring struct {
	// Zones are in lower case, without the dot at the end.
	Zones []string
	// Servers are the addresses of atoll-dns, where it listens on port 53.
	Servers []netip.Addr
	// ReplaceLighthouse has what Submariner's Lighthouse has in the same places be taken out by the same
	// change, so that at no time nobody answers. Uninstalling does not bring it back.
	ReplaceLighthouse bool
}

// Validate says what is wrong with the wiring, in words for the person who asked for it.
func (w Wiring) Validate() error {
	if len(w.Zones) == 0 || len(w.Servers) == 0 {
		return errors.New("a zone and a server are needed")
	}
	for i, z := range w.Zones {
		if problems := validation.IsDNS1123Subdomain(z); len(problems) > 0 {
			return fmt.Errorf("the zone %q is not a domain name: %s", z, strings.Join(problems, "; "))
		}
		if slices.Contains(w.Zones[:i], z) {
			return fmt.Errorf("the zone %s is given twice", z)
		}
	}
	for _, s := range w.Servers {
		if !s.IsValid() || s.IsUnspecified() || s.IsLoopback() || s.Zone() != "" {
			return fmt.Errorf("%s is not an address that a cluster's DNS can reach", s)
		}
	}
	return nil
}

func (w Wiring) servers() []string {
	texts := make([]string, len(w.Servers))
	for i, s := range w.Servers {
		texts[i] = s.String()
	}
	return texts
}

// Object is an object of the API.
type Object interface {
	metav1.Object
	runtime.Object
}

// Cluster is what there is in a cluster that has to do with its DNS; nil where it is not.
type Cluster struct {
	CoreDNS *corev1.ConfigMap // kube-system/coredns, or where the distribution has it
	Custom  *corev1.ConfigMap // kube-system/coredns-custom
	KubeDNS *corev1.ConfigMap // kube-system/kube-dns
	// KubeDNSRuns says that kube-dns is there, which needs no ConfigMap.
	KubeDNSRuns bool
	NodeLocal   *corev1.ConfigMap          // kube-system/node-local-dns
	OpenShift   *unstructured.Unstructured // dns.operator.openshift.io/default
}

// Change is what one form of wiring takes. Before and After are the same object where
// nothing has to be done.
type Change struct {
	Form Form
	// Before is nil for an object that has to be made, After for one to be deleted.
	Before, After Object
	// Fields are those that change.
	Fields []Field
	// Warnings are what a person should know about it.
	Warnings []string
}

// Field is a part of an object, as text; empty where it is not there.
type Field struct{ Name, Before, After string }

// None tells whether nothing has to be done.
func (c Change) None() bool { return len(c.Fields) == 0 }

// Object is the object that changes.
func (c Change) Object() Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// ErrUnknown says that a cluster has none of the forms.
var ErrUnknown = errors.New("found none of the ConfigMaps coredns, kube-dns and node-local-dns in kube-system, and no dns.operator.openshift.io")

// Detect finds the forms that a cluster has. Where there are several, each serves some of
// the cluster's pods, and all have to be wired.
func Detect(c Cluster) ([]Form, error) {
	if c.OpenShift != nil {
		return []Form{OpenShift}, nil // its operator writes the ConfigMaps
	}
	var forms []Form
	if c.KubeDNSRuns {
		forms = append(forms, KubeDNS)
	}
	if c.CoreDNS != nil {
		form := CoreDNS
		if f, err := corefile.Parse(c.CoreDNS.Data[keyCorefile]); err == nil && customSuffix(f) != "" {
			form = CoreDNSCustom
		}
		forms = append(forms, form)
	}
	if c.NodeLocal != nil && !c.KubeDNSRuns { // which it takes the stub domains of
		forms = append(forms, NodeLocal)
	}
	if len(forms) == 0 {
		return nil, ErrUnknown
	}
	return forms, nil
}

// Install decides what has to be changed so that exactly the given forms of a cluster are
// wired so. It refuses where somebody else has seen to one of the zones already.
func Install(c Cluster, w Wiring, forms []Form) ([]Change, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	changes, err := Uninstall(c, slices.DeleteFunc(Forms(), func(f Form) bool { return slices.Contains(forms, f) }))
	if err != nil {
		return nil, err
	}
	for _, f := range forms {
		change, err := editors[f].install(c, w)
		if err != nil {
			return nil, err
		}
		change.Form = f
		changes = append(changes, change)
	}
	return changes, nil
}

// Uninstall decides what has to be changed so that none of the given forms is wired. Forms
// that are not wired yield nothing.
func Uninstall(c Cluster, forms []Form) ([]Change, error) {
	var changes []Change
	for _, f := range forms {
		change, err := editors[f].uninstall(c)
		if err != nil {
			return nil, err
		}
		if !change.None() {
			change.Form = f
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// editor knows how one form is wired.
type editor struct {
	install   func(Cluster, Wiring) (Change, error)
	uninstall func(Cluster) (Change, error)
}

var editors = map[Form]editor{
	CoreDNS:       {installCoreDNS, uninstallCoreDNS},
	CoreDNSCustom: {installCustom, uninstallCustom},
	OpenShift:     {installOpenShift, uninstallOpenShift},
	KubeDNS:       {installKubeDNS, uninstallKubeDNS},
	NodeLocal:     {installNodeLocal, uninstallNodeLocal},
}
