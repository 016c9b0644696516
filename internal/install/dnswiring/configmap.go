package dnswiring

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	keyCorefile = "Corefile"
	// customObject is the name of the ConfigMap with the files that a distribution's Corefile imports.
	customObject = "coredns-custom"
	// customName is our key in coredns-custom, without its suffix.
	customName = "atoll"
)

func installCoreDNS(c Cluster, w Wiring) (Change, error) {
	if c.CoreDNS == nil {
		return Change{}, missing("kube-system/coredns")
	}
	bare, err := c.unwired()
	if err != nil {
		return Change{}, err
	}
	change, err := installCorefiles([]source{c.coreDNS()}, []source{bare.coreDNS()}, w, coreDNSBlock)
	if after, ok := change.After.(*corev1.ConfigMap); ok && err == nil {
		warnings := change.Warnings
		change = changed(c.CoreDNS, c.remember(after))
		change.Warnings = warnings
	}
	return change, err
}

// remember labels a ConfigMap whose place a user gave.
func (c Cluster) remember(cm *corev1.ConfigMap) *corev1.ConfigMap {
	if !c.Given {
		return cm
	}
	cm = cm.DeepCopy()
	cm.Labels = maps.Clone(cm.Labels)
	if cm.Labels == nil {
		cm.Labels = map[string]string{}
	}
	cm.Labels[names.LabelCorefile] = c.CoreDNS.Name
	return cm
}

// forgetPlace removes the label of remember.
func forgetPlace(cm *corev1.ConfigMap) {
	if delete(cm.Labels, names.LabelCorefile); len(cm.Labels) == 0 {
		cm.Labels = nil
	}
}

func uninstallCoreDNS(c Cluster) (Change, error) { return uninstallCorefiles(c.CoreDNS) }

func installNodeLocal(c Cluster, w Wiring) (Change, error) {
	if c.NodeLocal == nil {
		return Change{}, missing("kube-system/node-local-dns")
	}
	// NodeLocal DNSCache also serves the stub domains of kube-dns, and allows no zone twice.
	var below []string
	if c.KubeDNS != nil {
		err := stubsClaimed(c.KubeDNS, w.Zones)
		if err == nil {
			below, err = stubNotes(c.KubeDNS, w.Zones)
		}
		if err != nil {
			return Change{}, in(c.KubeDNS, err)
		}
	}
	bare, err := c.unwired()
	if err != nil {
		return Change{}, err
	}
	change, err := installCorefiles(c.nodeLocal(), bare.nodeLocal(), w, nodeLocalBlock)
	change.Warnings = append(change.Warnings, below...)
	return change, err
}

func uninstallNodeLocal(c Cluster) (Change, error) { return uninstallCorefiles(c.NodeLocal) }

// installCorefiles adds blocks to the Corefiles of a ConfigMap, whose configurations without Atoll are bare.
func installCorefiles(all, bare []source, w Wiring, render renderer) (Change, error) {
	if len(all) == 0 {
		return Change{}, errors.New("the ConfigMap of NodeLocal DNSCache has no key Corefile")
	}
	cm := all[0].configMap
	after := cm.DeepCopy()
	warnings := keeperNotes(cm)
	for i, s := range all {
		text, ok := cm.Data[s.key]
		if _, binary := cm.BinaryData[s.key]; binary {
			return Change{}, fmt.Errorf("configmap %s: the value of key %s is not valid UTF-8, so Atoll cannot change it: remove the invalid bytes, for example from a comment, and replace the ConfigMap", nameOf(cm), s.key)
		}
		if !ok {
			return Change{}, fmt.Errorf("configmap %s has no key %s", nameOf(cm), s.key)
		}
		blocks, notes, err := plan(bare[i], w, render)
		if err != nil {
			return Change{}, err
		}
		if after.Data[s.key], err = addBlock(text, blocks); err != nil {
			return Change{}, in(cm, err)
		}
		warnings = slices.Concat(warnings, notes, s.mountNotes(cm.Name, s.key))
	}
	change := changed(cm, after)
	change.Warnings = warnings
	return change, nil
}

// uninstallCorefiles removes Atoll's blocks from all keys of a ConfigMap.
func uninstallCorefiles(cm *corev1.ConfigMap) (Change, error) {
	if cm == nil {
		return Change{}, nil
	}
	after := cm.DeepCopy()
	for key, text := range cm.Data {
		rest, err := removeBlock(text)
		if err != nil {
			return Change{}, in(cm, err)
		}
		after.Data[key] = rest
	}
	forgetPlace(after)
	return changed(cm, after), nil
}

// installCustom adds our key to coredns-custom.
func installCustom(c Cluster, w Wiring) (Change, error) {
	if c.CoreDNS == nil {
		return Change{}, missing("kube-system/coredns")
	}
	bare, err := c.unwired()
	if err != nil {
		return Change{}, err
	}
	main, err := bare.coreDNS().assemble()
	if err != nil {
		return Change{}, err
	}
	suffix, dir := c.coreDNS().customSuffix(main)
	if suffix == "" {
		return Change{}, fmt.Errorf("the Corefile of configmap %s imports no server blocks from %s: add an import line outside all blocks, for example: import custom/*.server", nameOf(c.CoreDNS), customObject)
	}
	key := customName + suffix
	if !c.coreDNS().mountsKey(dir, key) {
		return Change{}, fmt.Errorf("configmap %s/%s: the DNS pods mount only some keys, and not %s, so CoreDNS would not read Atoll's server block. Mount the key %[3]s too, or use --provider %s", c.CoreDNS.Namespace, customObject, key, CoreDNS)
	}
	blocks, warnings, err := plan(bare.coreDNS(), w, coreDNSBlock)
	if err != nil {
		return Change{}, err
	}
	after := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.CoreDNS.Namespace, Name: customObject},
	}
	if c.Custom == nil {
		record{Made: []string{madeObject}}.write(after)
	} else {
		after = c.Custom.DeepCopy()
		if text, found := contents(after)[key]; found && text != "" { // render writes "" for a key that it removes
			if rest, err := removeBlock(text); err == nil && rest == text {
				return Change{}, in(after, fmt.Errorf("the key %s exists, but Atoll did not write it: rename the key", key))
			}
		}
	}
	text, err := addBlock(after.Data[key], blocks)
	if err != nil {
		return Change{}, in(after, err)
	}
	if after.Data == nil {
		after.Data = map[string]string{}
	}
	after.Data[key] = text
	change := changed(c.Custom, c.remember(after))
	change.Warnings = slices.Concat(keeperNotes(after), warnings, c.coreDNS().mountNotes(customObject, key))
	return change, nil
}

// uninstallCustom deletes our key, and the ConfigMap if Atoll created it.
func uninstallCustom(c Cluster) (Change, error) {
	if c.Custom == nil {
		return Change{}, nil
	}
	after := c.Custom.DeepCopy()
	for key, text := range after.Data {
		if !strings.HasPrefix(key, customName) {
			continue
		}
		rest, err := removeBlock(text)
		switch {
		case err != nil:
			return Change{}, in(c.Custom, err)
		case rest == "" && (text != "" || strings.HasPrefix(key, customName+".")): // render writes "" for a key that it removes
			delete(after.Data, key)
		default:
			after.Data[key] = rest
		}
	}
	forgetPlace(after)
	return changed(c.Custom, emptied(after)), nil
}

func missing(name string) error { return fmt.Errorf("there is no configmap %s in this cluster", name) }

// in adds the object's name to an error.
func in(cm *corev1.ConfigMap, err error) error {
	var taken *ClaimedError
	if errors.As(err, &taken) {
		taken.Object = "configmap " + nameOf(cm)
		return taken
	}
	return fmt.Errorf("configmap %s: %w", nameOf(cm), err)
}

func nameOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }
