package dnswiring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// keyStubs is the key of the ConfigMap kube-dns that has, in JSON, the servers of zones.
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
	text, found := after.Data[keyStubs]
	if !found {
		text, old.Made = "{}", append(old.Made, keyStubs)
	}
	text, err := addStubs(text, w, old.Zones)
	if err != nil {
		return Change{}, in(after, err)
	}
	if after.Data == nil {
		after.Data = map[string]string{}
	}
	after.Data[keyStubs] = text
	record{Zones: w.Zones, Made: old.Made}.write(after)
	return changed(c.KubeDNS, after), nil
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
	if text, ok := after.Data[keyStubs]; ok {
		text, err := removeStubs(text, old.Zones)
		if err != nil {
			return Change{}, in(c.KubeDNS, err)
		}
		after.Data[keyStubs] = text
		if members, _, err := stubs(text); err == nil && len(members) == 0 && slices.Contains(old.Made, keyStubs) {
			delete(after.Data, keyStubs)
		}
	}
	if after = emptied(after); after != nil {
		forget(after)
	}
	return changed(c.KubeDNS, after), nil
}

// stubsClaimed refuses zones that have servers already which are not ours.
func stubsClaimed(cm *corev1.ConfigMap, zones []string) error {
	text, ok := cm.Data[keyStubs]
	if !ok {
		return nil
	}
	old, err := recordOf(cm)
	if err != nil {
		return err
	}
	members, _, err := stubs(text)
	if err != nil {
		return in(cm, err)
	}
	for _, m := range members {
		zone := corefile.Zone(m.key)
		ours := old != nil && slices.Contains(old.Zones, m.key)
		if slices.Contains(zones, zone) && !ours {
			return in(cm, &ClaimedError{Zone: zone, By: keyStubs})
		}
	}
	return nil
}

// addStubs puts the zones first into the JSON object in text, in the place of those that
// were there from before.
func addStubs(text string, w Wiring, before []string) (string, error) {
	if slices.Equal(before, w.Zones) && stubbed(text, w) {
		return text, nil // however it is written
	}
	rest, err := removeStubs(text, before)
	if err != nil {
		return "", err
	}
	members, open, err := stubs(rest)
	if err != nil {
		return "", err
	}
	servers, err := json.Marshal(w.servers())
	if err != nil {
		return "", err
	}
	// As the members are separated that there are.
	separator, at := ", ", open
	if len(members) > 0 {
		at = members[0].start
		if space := rest[open:at]; space != "" {
			separator = "," + space
		}
	}
	var added []string
	for _, zone := range w.Zones {
		added = append(added, fmt.Sprintf("%q: %s", zone, servers))
	}
	insert := strings.Join(added, separator)
	if len(members) > 0 {
		insert += separator
	}
	return rest[:at] + insert + rest[at:], nil
}

// stubbed tells whether the zones have exactly these servers.
func stubbed(text string, w Wiring) bool {
	var servers map[string][]string
	if json.Unmarshal([]byte(text), &servers) != nil {
		return false
	}
	return !slices.ContainsFunc(w.Zones, func(zone string) bool { return !slices.Equal(servers[zone], w.servers()) })
}

// removeStubs takes members of a JSON object out, each with the comma and the space that
// separate it from the next one, or the last one from the one before it.
func removeStubs(text string, zones []string) (string, error) {
	for {
		members, _, err := stubs(text)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(members, func(m member) bool { return slices.Contains(zones, m.key) })
		if i < 0 {
			return text, nil
		}
		from, to := members[i].start, members[i].end
		switch {
		case i+1 < len(members):
			to = members[i+1].start
		case i > 0:
			from = members[i-1].end
		}
		text = text[:from] + text[to:]
	}
}

// member is a member of a JSON object, and where it stands.
type member struct {
	key        string
	start, end int
}

// stubs reads the members of the JSON object in text, and where it begins, after the brace.
func stubs(text string) (members []member, open int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s is no JSON object of zones and their servers, so that nothing can be added: %w", keyStubs, err)
		}
	}()
	var whole map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return nil, 0, err
	}
	if whole == nil {
		return nil, 0, errors.New("it is null")
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if _, err := d.Token(); err != nil { // {
		return nil, 0, err
	}
	open = int(d.InputOffset())
	for at := open; d.More(); {
		key, err := d.Token()
		if err != nil {
			return nil, 0, err
		}
		start := at + strings.IndexByte(text[at:], '"')
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, 0, err
		}
		at = int(d.InputOffset())
		members = append(members, member{key: key.(string), start: start, end: at})
	}
	return members, open, nil
}
