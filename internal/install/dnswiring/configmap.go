package dnswiring

import (
	"errors"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

const (
	keyCorefile = "Corefile"
	// customName is our key in coredns-custom, without its suffix.
	customName = "atoll"
)

func installCoreDNS(c Cluster, w Wiring) (Change, error) {
	if c.CoreDNS == nil {
		return Change{}, missing("kube-system/coredns")
	}
	return installCorefile(c.CoreDNS, w, coreDNSBlock)
}

func uninstallCoreDNS(c Cluster) (Change, error) { return uninstallCorefile(c.CoreDNS) }

func installNodeLocal(c Cluster, w Wiring) (Change, error) {
	if c.NodeLocal == nil {
		return Change{}, missing("kube-system/node-local-dns")
	}
	// NodeLocal DNSCache also serves the stub domains of kube-dns, and allows no zone twice.
	if c.KubeDNS != nil {
		if err := stubsClaimed(c.KubeDNS, w.Zones); err != nil {
			return Change{}, err
		}
	}
	return installCorefile(c.NodeLocal, w, nodeLocalBlock)
}

func uninstallNodeLocal(c Cluster) (Change, error) { return uninstallCorefile(c.NodeLocal) }

func installCorefile(cm *corev1.ConfigMap, w Wiring, render func(Wiring, corefile.Block) string) (Change, error) {
	text, ok := cm.Data[keyCorefile]
	if !ok {
		return Change{}, fmt.Errorf("configmap %s has no key %s", nameOf(cm), keyCorefile)
	}
	rest, err := text, error(nil)
	if w.ReplaceLighthouse {
		if rest, err = withoutLighthouse(text, w); err != nil {
			return Change{}, in(cm, err)
		}
	}
	wired, err := wireCorefile(rest, w, render)
	if err != nil {
		return Change{}, in(cm, err)
	}
	after := cm.DeepCopy()
	after.Data[keyCorefile] = wired
	change := changed(cm, after)
	change.Warnings = notes(cm, text)
	return change, nil
}

func uninstallCorefile(cm *corev1.ConfigMap) (Change, error) {
	if cm == nil {
		return Change{}, nil
	}
	text, err := removeBlock(cm.Data[keyCorefile])
	if err != nil {
		return Change{}, in(cm, err)
	}
	after := cm.DeepCopy()
	if _, ok := after.Data[keyCorefile]; ok {
		after.Data[keyCorefile] = text
	}
	return changed(cm, after), nil
}

// customSuffix returns the suffix of keys in coredns-custom that the Corefile imports as server blocks; empty if there
// is no such import.
func customSuffix(file corefile.File) string {
	for _, pattern := range file.Imports {
		if suffix, ok := strings.CutPrefix(path.Base(pattern), "*"); ok && suffix != "" {
			return suffix
		}
	}
	return ""
}

// installCustom adds our key to coredns-custom.
func installCustom(c Cluster, w Wiring) (Change, error) {
	if c.CoreDNS == nil {
		return Change{}, missing("kube-system/coredns")
	}
	main, text, err := unmarkedCorefile(c.CoreDNS)
	if err != nil {
		return Change{}, err
	}
	suffix := customSuffix(main)
	if suffix == "" {
		return Change{}, fmt.Errorf("the Corefile of configmap %s imports no server blocks: add an import line outside all blocks, for example: import custom/*.server", nameOf(c.CoreDNS))
	}
	root, err := rootBlock(main)
	if err == nil {
		err = claimedByLighthouse(claimed(main, w.Zones, portOf(root)), text)
	}
	if err != nil {
		return Change{}, in(c.CoreDNS, err)
	}
	after := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.CoreDNS.Namespace, Name: "coredns-custom"},
	}
	if c.Custom == nil {
		record{Made: []string{madeObject}}.write(after)
	} else {
		after = c.Custom.DeepCopy()
		if w.ReplaceLighthouse {
			err = withoutLighthouseKey(after, w)
		}
		if err == nil {
			err = customClaimed(after, w, suffix, portOf(root))
		}
		if err != nil {
			return Change{}, in(c.Custom, err)
		}
	}
	text, err = addBlock(after.Data[customName+suffix], coreDNSBlock(w, root))
	if err != nil {
		return Change{}, in(after, err)
	}
	if after.Data == nil {
		after.Data = map[string]string{}
	}
	after.Data[customName+suffix] = text
	change := changed(c.Custom, after)
	change.Warnings = notes(after, c.CoreDNS.Data[keyCorefile])
	return change, nil
}

// unmarkedCorefile parses a ConfigMap's Corefile and returns its text, without a block from an earlier version of
// Atoll or the other form.
func unmarkedCorefile(cm *corev1.ConfigMap) (file corefile.File, text string, err error) {
	if text, err = removeBlock(cm.Data[keyCorefile]); err == nil {
		file, err = corefile.Parse(text)
	}
	if err != nil {
		return file, text, in(cm, err)
	}
	return file, text, nil
}

// customClaimed rejects zones that another key serves, and a foreign key with our name.
func customClaimed(cm *corev1.ConfigMap, w Wiring, suffix, port string) error {
	for _, key := range sortedKeys(cm.Data) {
		if !strings.HasSuffix(key, suffix) {
			continue
		}
		text, err := removeBlock(cm.Data[key])
		if err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		if key == customName+suffix && text == cm.Data[key] {
			return fmt.Errorf("the key %s exists, but Atoll did not write it: rename the key", key)
		}
		file, err := corefile.Parse(text)
		if err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		var taken *ClaimedError
		if err := claimed(file, w.Zones, port); errors.As(err, &taken) {
			taken.By = fmt.Sprintf("%s of the key %s", taken.By, key)
			taken.Lighthouse = key == lighthouseKey
			return taken
		}
	}
	return nil
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
