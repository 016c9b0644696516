package dnswiring

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	return installCorefile(c.coreDNS(), bare.coreDNS(), w, coreDNSBlock)
}

func uninstallCoreDNS(c Cluster) (Change, error) { return uninstallCorefile(c.coreDNS()) }

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
	change, err := installCorefile(c.nodeLocal(), bare.nodeLocal(), w, nodeLocalBlock)
	change.Warnings = append(change.Warnings, below...)
	return change, err
}

func uninstallNodeLocal(c Cluster) (Change, error) { return uninstallCorefile(c.nodeLocal()) }

// installCorefile adds blocks to a Corefile, whose configuration without Atoll is bare.
func installCorefile(s, bare source, w Wiring, render renderer) (Change, error) {
	cm := s.configMap
	text, ok := cm.Data[s.key]
	if !ok {
		return Change{}, fmt.Errorf("configmap %s has no key %s", nameOf(cm), s.key)
	}
	blocks, warnings, err := plan(bare, w, render)
	if err != nil {
		return Change{}, err
	}
	wired, err := addBlock(text, blocks)
	if err != nil {
		return Change{}, in(cm, err)
	}
	after := cm.DeepCopy()
	after.Data[s.key] = wired
	change := changed(cm, after)
	change.Warnings = append(keeperNotes(cm), warnings...)
	return change, nil
}

func uninstallCorefile(s source) (Change, error) {
	if s.configMap == nil {
		return Change{}, nil
	}
	text, err := removeBlock(s.configMap.Data[s.key])
	if err != nil {
		return Change{}, in(s.configMap, err)
	}
	after := s.configMap.DeepCopy()
	if _, ok := after.Data[s.key]; ok {
		after.Data[s.key] = text
	}
	return changed(s.configMap, after), nil
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
	suffix := c.coreDNS().customSuffix(main)
	if suffix == "" {
		return Change{}, fmt.Errorf("the Corefile of configmap %s imports no server blocks from %s: add an import line outside all blocks, for example: import custom/*.server", nameOf(c.CoreDNS), customObject)
	}
	blocks, warnings, err := plan(bare.coreDNS(), w, coreDNSBlock)
	if err != nil {
		return Change{}, err
	}
	after := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.CoreDNS.Namespace, Name: customObject},
	}
	key := customName + suffix
	if c.Custom == nil {
		record{Made: []string{madeObject}}.write(after)
	} else {
		after = c.Custom.DeepCopy()
		if text, found := after.Data[key]; found {
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
	change := changed(c.Custom, after)
	change.Warnings = append(keeperNotes(after), warnings...)
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
		case rest == "" && text != "":
			delete(after.Data, key)
		default:
			after.Data[key] = rest
		}
	}
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
