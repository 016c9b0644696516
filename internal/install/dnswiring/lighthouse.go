package dnswiring

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// Parts that Submariner's operator adds to cluster DNS for Lighthouse (submariner-operator,
// internal/controllers/servicediscovery): a marked part of the Corefile, a key of coredns-custom, or a server of
// OpenShift.
const (
	lighthouseBegin  = "lighthouse-start"
	lighthouseEnd    = "lighthouse-end"
	lighthouseKey    = "lighthouse.server"
	lighthouseServer = "lighthouse"
)

// withoutLighthousePart returns a Corefile without Lighthouse's part.
func withoutLighthousePart(text string, w Wiring) (string, error) {
	var rest, part strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case strings.Contains(line, lighthouseBegin):
			inside = true
		case strings.Contains(line, lighthouseEnd):
			inside = false
		case inside:
			part.WriteString(line)
		default:
			rest.WriteString(line)
		}
	}
	if inside {
		return "", fmt.Errorf("the start marker %q has no matching end marker %q: remove Lighthouse's section manually", lighthouseBegin, lighthouseEnd)
	}
	return rest.String(), coversAll(w, part.String())
}

// withoutLighthouse returns a cluster without Lighthouse's parts in its ConfigMaps.
func (c Cluster) withoutLighthouse(w Wiring) (Cluster, error) {
	if cm, key := c.CoreDNS, c.corefileKey(); cm != nil && strings.Contains(cm.Data[key], lighthouseBegin) {
		rest, err := withoutLighthousePart(cm.Data[key], w)
		if err != nil {
			return c, in(cm, err)
		}
		c.CoreDNS = cm.DeepCopy()
		c.CoreDNS.Data[key] = rest
	}
	if c.Custom != nil {
		if part, found := c.Custom.Data[lighthouseKey]; found {
			if err := coversAll(w, part); err != nil {
				return c, in(c.Custom, err)
			}
			c.Custom = c.Custom.DeepCopy()
			delete(c.Custom.Data, lighthouseKey)
		}
	}
	return c, nil
}

// withoutLighthouseServers returns OpenShift's servers without Lighthouse's, which has one per zone.
func withoutLighthouseServers(servers []any, w Wiring) ([]any, error) {
	var err error
	rest := slices.DeleteFunc(slices.Clone(servers), func(s any) bool {
		name, _, _ := unstructured.NestedString(asMap(s), "name")
		if name != lighthouseServer {
			return false
		}
		zones, _, _ := unstructured.NestedStringSlice(asMap(s), "zones")
		for _, zone := range zones {
			if err == nil {
				err = coversZone(w, corefile.Zone(zone))
			}
		}
		return true
	})
	return rest, err
}

// coversAll checks that all zones of Lighthouse's part are wired to atoll-dns instead.
func coversAll(w Wiring, part string) error {
	file, err := corefile.Parse(part)
	if err != nil {
		return fmt.Errorf("reading Lighthouse's section: %w", err)
	}
	for _, b := range file.Blocks {
		for _, key := range b.Keys {
			for _, zone := range corefile.ParseKey(key).Zones {
				if err := coversZone(w, zone); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func coversZone(w Wiring, zone string) error {
	if slices.Contains(w.Zones, zone) {
		return nil
	}
	return fmt.Errorf("lighthouse also serves the zone %s, which no DNS server would serve after this change. If atoll-dns is configured to serve this zone, add it with --zone. Otherwise, remove the zone from Lighthouse's section first", zone)
}
