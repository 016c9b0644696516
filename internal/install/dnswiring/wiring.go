// Package dnswiring decides how to change a cluster's DNS configuration so that it forwards the clusterset's zones to
// atoll-dns, and how to revert this change. docs/reference/dns.md describes the forms.
//
// Outside of the marked part, a Corefile stays the same byte for byte, and uninstalling restores the original. The
// stub domains of kube-dns are JSON and are rewritten.
package dnswiring

import (
	"cmp"
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
)

// Form is a place in a cluster's DNS configuration for forwarding a zone.
type Form string

// Values of Form. A cluster can have several.
const (
	// CoreDNS is a server block in the Corefile of the ConfigMap coredns: kubeadm, kind, EKS and most others.
	CoreDNS Form = "coredns"
	// CoreDNSCustom is a key of the ConfigMap coredns-custom, if the Corefile imports such keys: AKS, k3s,
	// DigitalOcean, Gardener.
	CoreDNSCustom Form = "coredns-custom"
	// OpenShift is an entry in spec.servers of the dns.operator.openshift.io default.
	OpenShift Form = "openshift"
	// KubeDNS is an entry in the stubDomains of the ConfigMap kube-dns: GKE.
	KubeDNS Form = "kube-dns"
	// NodeLocal is a server block in the Corefile of NodeLocal DNSCache, which forwards only the cluster's own zones
	// to cluster DNS.
	NodeLocal Form = "nodelocal"
)

// Forms returns all forms in the order of processing.
func Forms() []Form { return []Form{OpenShift, KubeDNS, CoreDNS, CoreDNSCustom, NodeLocal} }

// Wiring is the forwarding to set up.
type Wiring struct {
	// Zones are in lower case, without the final dot.
	Zones []string
	// Servers are the addresses of atoll-dns, at port 53.
	Servers []netip.Addr
	// ReplaceLighthouse removes Submariner's Lighthouse from the same places in the same change, so that names always
	// resolve. Uninstalling does not restore it.
	ReplaceLighthouse bool
}

// maxServers is the largest number of addresses that CoreDNS's plugin forward accepts.
const maxServers = 15

// Validate returns the problem in words for the user.
func (w Wiring) Validate() error {
	if len(w.Zones) == 0 || len(w.Servers) == 0 {
		return errors.New("at least one zone and one server address are required")
	}
	if len(w.Servers) > maxServers {
		return fmt.Errorf("%d server addresses are given, but CoreDNS does not start with more than %d addresses in one directive forward", len(w.Servers), maxServers)
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

// Object is an API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Cluster is a cluster's DNS configuration. Missing objects are nil.
type Cluster struct {
	CoreDNS *corev1.ConfigMap // kube-system/coredns, or the distribution's place
	// Key is the key of CoreDNS with the Corefile, and Path the file's path in the pods; empty means the usual ones.
	Key, Path string
	// Given means that the place of CoreDNS is not one where Atoll finds it by itself, so that a label remembers it.
	Given bool
	// Mounts are the ConfigMaps in the pods of CoreDNS; nil if they are unknown.
	Mounts []Mount
	// Ports are the ports at which the pods of CoreDNS receive queries; nil if they are unknown.
	Ports []string
	// Image is that of CoreDNS's pods; empty if it is unknown.
	Image string
	// DefaultPort is the port of CoreDNS's keys without one; empty means 53.
	DefaultPort string
	Custom      *corev1.ConfigMap // kube-system/coredns-custom
	KubeDNS     *corev1.ConfigMap // kube-system/kube-dns
	// KubeDNSRuns means that kube-dns runs, which needs no ConfigMap.
	KubeDNSRuns bool
	NodeLocal   *corev1.ConfigMap // kube-system/node-local-dns, or the distribution's place
	// Unclear says why Atoll cannot tell which object CoreDNS or NodeLocal is, if there are several.
	Unclear map[Form]error
	// NodeLocalKeys are the keys of NodeLocal with Corefiles; empty means all keys with such a name.
	NodeLocalKeys []string
	OpenShift     *unstructured.Unstructured // dns.operator.openshift.io/default
	// Former are the ConfigMaps in other usual places. DNS servers may have used them before.
	Former []*corev1.ConfigMap
}

// Change is the change for one form. Before and After are the same object if nothing changes.
type Change struct {
	Form Form
	// Before is nil for an object to create, After for one to delete.
	Before, After Object
	// Fields are the changed fields.
	Fields []Field
	// Warnings are for the user.
	Warnings []string
}

// Field is a field of an object as text; empty if missing.
type Field struct{ Name, Before, After string }

// None reports whether nothing changes.
func (c Change) None() bool { return len(c.Fields) == 0 }

// Object returns the changed object.
func (c Change) Object() Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// ErrUnknown means that a cluster has none of the forms.
var ErrUnknown = errors.New("the cluster has none of the ConfigMaps coredns, kube-dns and node-local-dns in kube-system, and no object of the kind dns.operator.openshift.io")

// Detect returns the forms of a cluster. Each serves some of its pods, so all need the wiring.
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
		if f, err := c.coreDNS().assemble(); err == nil {
			if suffix, _ := c.coreDNS().customSuffix(f); suffix != "" {
				form = CoreDNSCustom
			}
		}
		forms = append(forms, form)
	}
	if c.NodeLocal != nil && !c.KubeDNSRuns { // with kube-dns, it uses the stub domains of kube-dns
		forms = append(forms, NodeLocal)
	}
	if len(forms) == 0 {
		return nil, ErrUnknown
	}
	return forms, nil
}

// Install returns the changes that wire exactly the given forms. It fails if another part of the configuration already
// serves one of the zones, or if a DNS server would not start with the changes.
func Install(c Cluster, w Wiring, forms []Form) ([]Change, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	for _, f := range forms {
		if err := c.unclear(f); err != nil {
			return nil, err
		}
	}
	rest := c
	if w.ReplaceLighthouse {
		var err error
		if rest, err = c.withoutLighthouse(w); err != nil {
			return nil, err
		}
	}
	changes, err := uninstall(rest, slices.DeleteFunc(Forms(), func(f Form) bool { return slices.Contains(forms, f) }))
	if err != nil {
		return nil, err
	}
	for _, f := range forms {
		change, err := editorOf(f).install(rest, w)
		if err != nil {
			return nil, err
		}
		change.Form = f
		changes = append(changes, change)
	}
	return verified(c, rest, changes, forms)
}

// unclear returns why the object of a form is not known.
func (c Cluster) unclear(f Form) error {
	if f == CoreDNSCustom {
		f = CoreDNS
	}
	return c.Unclear[f]
}

// verified checks that the DNS servers start with the changes. rest is the cluster without the parts that the changes
// replace.
func verified(c, rest Cluster, changes []Change, forms []Form) ([]Change, error) {
	after := rest.with(changes)
	bare, err := rest.unwired()
	if err != nil {
		return nil, err
	}
	for _, f := range forms {
		switch f {
		case CoreDNS, CoreDNSCustom:
			err = errors.Join(err, after.coreDNS().verify(bare.coreDNS()))
		case NodeLocal:
			for i, s := range after.nodeLocal() {
				err = errors.Join(err, s.verify(bare.nodeLocal()[i]))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	changes = replaced(c, rest, changes)
	if err := mutable(changes); err != nil {
		return nil, err
	}
	return changes, nil
}

// mutable returns an error for changes that the API server would refuse.
func mutable(changes []Change) error {
	for _, c := range changes {
		cm, ok := c.Before.(*corev1.ConfigMap)
		if !ok || cm == nil || c.None() || c.After == nil || cm.Immutable == nil || !*cm.Immutable {
			continue
		}
		do := "with this section:"
		for _, f := range c.Fields {
			if from, to, err := marked(f.After); err == nil && from >= 0 {
				do += "\n" + strings.TrimPrefix(f.Name, "data.") + ":\n" + f.After[from:to]
			}
		}
		if !strings.Contains(do, "\n") {
			do = "again, and remove Atoll's section"
		}
		owners := ""
		for _, note := range keeperNotes(cm) {
			owners += note + ". "
		}
		return in(cm, fmt.Errorf("the ConfigMap is immutable, so Atoll cannot change it. %sThe tool that creates the ConfigMap must create it %s", owners, do))
	}
	return nil
}

// replaced returns changes of the cluster c, from changes of a cluster without the parts that they replace.
func replaced(c, rest Cluster, changes []Change) []Change {
	var first []Change
	for _, f := range []Form{CoreDNS, CoreDNSCustom, NodeLocal} {
		before, between := *c.configMap(f), *rest.configMap(f)
		if before == between {
			continue
		}
		i := slices.IndexFunc(changes, func(change Change) bool { return change.Form == f })
		if i < 0 {
			change := changed(before, between)
			change.Form = f
			first = append(first, change)
			continue
		}
		after, _ := changes[i].After.(*corev1.ConfigMap)
		change := changed(before, after)
		change.Form, change.Warnings = f, changes[i].Warnings
		changes[i] = change
	}
	return append(first, changes...) // no zone twice between two writes
}

// with returns the cluster after changes.
func (c Cluster) with(changes []Change) Cluster {
	for _, change := range changes {
		switch after := change.After.(type) {
		case *unstructured.Unstructured:
			c.OpenShift = after
		case *corev1.ConfigMap:
			*c.configMap(change.Form) = after
		case nil:
			*c.configMap(change.Form) = nil
		}
	}
	return c
}

// configMap returns the place of a form's ConfigMap.
func (c *Cluster) configMap(f Form) **corev1.ConfigMap {
	switch f {
	case CoreDNSCustom:
		return &c.Custom
	case KubeDNS:
		return &c.KubeDNS
	case NodeLocal:
		return &c.NodeLocal
	default:
		return &c.CoreDNS
	}
}

// unwired returns the cluster without Atoll's parts.
func (c Cluster) unwired() (Cluster, error) {
	changes, err := uninstall(c, []Form{CoreDNS, CoreDNSCustom, NodeLocal})
	return c.with(changes), err
}

func (c Cluster) corefileKey() string { return cmp.Or(c.Key, keyCorefile) }

// Uninstall returns the changes that unwire the given forms.
func Uninstall(c Cluster, forms []Form) ([]Change, error) {
	changes, err := uninstall(c, forms)
	if err == nil && slices.Contains(forms, CoreDNS) {
		changes, err = c.uninstallFormer(changes)
	}
	if err == nil {
		err = mutable(changes)
	}
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// uninstall returns the changes of Uninstall, also of objects that are immutable.
func uninstall(c Cluster, forms []Form) ([]Change, error) {
	var changes []Change
	for _, f := range forms {
		change, err := editorOf(f).uninstall(c)
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

// uninstallFormer adds the changes that remove Atoll's blocks from places that DNS servers no longer use.
func (c Cluster) uninstallFormer(changes []Change) ([]Change, error) {
	for _, cm := range c.Former {
		change, err := uninstallCorefiles(cm)
		if err != nil {
			return nil, err
		}
		if !change.None() {
			change.Form = CoreDNS
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// editor wires one form.
type editor struct {
	install   func(Cluster, Wiring) (Change, error)
	uninstall func(Cluster) (Change, error)
}

func editorOf(f Form) editor {
	switch f {
	case OpenShift:
		return editor{installOpenShift, uninstallOpenShift}
	case KubeDNS:
		return editor{installKubeDNS, uninstallKubeDNS}
	case CoreDNSCustom:
		return editor{installCustom, uninstallCustom}
	case NodeLocal:
		return editor{installNodeLocal, uninstallNodeLocal}
	default:
		return editor{installCoreDNS, uninstallCoreDNS}
	}
}
