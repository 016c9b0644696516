package dnswiring

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// keyStubs is the key of the ConfigMap kube-dns with the servers of zones, in JSON.
const keyStubs = "stubDomains"

func installKubeDNS(c Cluster, w Wiring) (Change, error) {
	after := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-dns"},
	}
	old := &record{Made: []string{madeObject}}
	if c.KubeDNS != nil {
		after = c.KubeDNS.DeepCopy()
		var err error
		if old, err = recordOf(after); err != nil {
			return Change{}, err
		}
		if err := stubsClaimed(c.KubeDNS, w.Zones); err != nil {
			return Change{}, err
		}
	}
	if old == nil {
		old = &record{}
	}
	if _, found := after.Data[keyStubs]; !found {
		old.Made = append(old.Made, keyStubs)
	}
	err := editStubs(after, func(servers stubs) {
		for _, zone := range old.Zones {
			delete(servers, zone)
		}
		for _, zone := range w.Zones {
			servers[zone] = w.servers()
		}
	})
	if err != nil {
		return Change{}, in(after, err)
	}
	record{Zones: w.Zones, Made: old.Made}.write(after)
	change := changed(c.KubeDNS, after)
	change.Warnings, err = stubNotes(after, w.Zones)
	return change, err
}

func uninstallKubeDNS(c Cluster) (Change, error) {
	if c.KubeDNS == nil {
		return Change{}, nil
	}
	old, err := recordOf(c.KubeDNS)
	if err != nil || old == nil {
		return Change{}, err
	}
	after := c.KubeDNS.DeepCopy()
	left := 0
	err = editStubs(after, func(servers stubs) {
		for _, zone := range old.Zones {
			delete(servers, zone)
		}
		left = len(servers)
	})
	if err != nil {
		return Change{}, in(c.KubeDNS, err)
	}
	if left == 0 && slices.Contains(old.Made, keyStubs) {
		delete(after.Data, keyStubs)
	}
	if after = emptied(after); after != nil {
		forget(after)
	}
	return changed(c.KubeDNS, after), nil
}

// stubsClaimed rejects zones that already have other servers.
func stubsClaimed(cm *corev1.ConfigMap, zones []string) error {
	old, err := recordOf(cm)
	if err != nil {
		return err
	}
	servers, err := readStubs(cm)
	if err != nil {
		return in(cm, err)
	}
	for name := range servers {
		ours := old != nil && slices.Contains(old.Zones, name)
		if zone := corefile.Zone(name); takes(zone, zones) && !ours {
			return in(cm, &ClaimedError{Zone: zone, By: keyStubs})
		}
	}
	return nil
}

// stubNotes returns warnings about stub domains below the zones.
func stubNotes(cm *corev1.ConfigMap, zones []string) ([]string, error) {
	servers, err := readStubs(cm)
	return belowNotes(keyStubs, slices.Sorted(maps.Keys(servers)), zones), err
}

// stubs maps zones to servers.
type stubs map[string][]string

func readStubs(cm *corev1.ConfigMap) (stubs, error) {
	servers := stubs{}
	text, found := cm.Data[keyStubs]
	if !found {
		return servers, nil
	}
	err := json.Unmarshal([]byte(text), &servers)
	if err == nil && servers == nil {
		err = errors.New("the value is null")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSON object that maps zones to DNS servers: %w", keyStubs, err)
	}
	return servers, nil
}

// editStubs changes the stub domains of a ConfigMap. It rewrites the JSON only if they change.
func editStubs(cm *corev1.ConfigMap, edit func(stubs)) error {
	before, err := readStubs(cm)
	if err != nil {
		return err
	}
	servers := maps.Clone(before)
	edit(servers)
	if maps.EqualFunc(before, servers, slices.Equal[[]string]) {
		return nil
	}
	text, err := json.MarshalIndent(servers, "", "  ")
	if err != nil {
		return err
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	cm.Data[keyStubs] = string(text) + "\n"
	return nil
}
