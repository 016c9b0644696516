package dnswiring

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// What Submariner's operator writes into a cluster's DNS for Lighthouse (submariner-operator,
// internal/controllers/servicediscovery): a marked part of the Corefile, a key of coredns-custom, or a server of
// OpenShift's.
const (
	lighthouseBegin  = "lighthouse-start"
	lighthouseEnd    = "lighthouse-end"
	lighthouseKey    = "lighthouse.server"
	lighthouseServer = "lighthouse"
)

// withoutLighthouse returns a Corefile without Lighthouse's part, if it has one.
func withoutLighthouse(text string, w Wiring) (string, error) {
	var rest, part strings.Builder
	last := outside
	for line, is := range lighthouseLines(text) {
		switch last = is; is {
		case inside:
			part.WriteString(line)
		case outside:
			rest.WriteString(line)
		}
	}
	if last == begins || last == inside {
		return "", fmt.Errorf("%q has no line with %q after it; remove Lighthouse's part by hand", lighthouseBegin, lighthouseEnd)
	}
	return rest.String(), covers(w, part.String())
}

// withinLighthouse tells whether a line of a Corefile, counted from 1, is in Lighthouse's part.
func withinLighthouse(text string, line int) bool {
	at := 0
	for _, is := range lighthouseLines(text) {
		if at++; at == line {
			return is == inside
		}
	}
	return false
}

// place is where a line of a Corefile is: in Lighthouse's part or not, or one of the two marks around it.
type place int

const (
	outside place = iota
	begins
	inside
	ends
)

// lighthouseLines are a Corefile's lines, and where they are.
func lighthouseLines(text string) iter.Seq2[string, place] {
	return func(yield func(string, place) bool) {
		is := outside
		for line := range strings.Lines(text) {
			switch {
			case strings.Contains(line, lighthouseBegin):
				is = begins
			case strings.Contains(line, lighthouseEnd):
				is = ends
			case is == begins:
				is = inside
			case is == ends:
				is = outside
			}
			if !yield(line, is) {
				return
			}
		}
	}
}

// withoutLighthouseKey takes Lighthouse's key out of coredns-custom.
func withoutLighthouseKey(cm *corev1.ConfigMap, w Wiring) error {
	err := covers(w, cm.Data[lighthouseKey])
	delete(cm.Data, lighthouseKey)
	return err
}

// withoutLighthouseServers returns OpenShift's servers without Lighthouse's, of which there is one for each zone.
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

// covers makes sure that all zones of a part of Lighthouse's are wired to atoll-dns instead.
func covers(w Wiring, part string) error {
	file, err := corefile.Parse(part)
	if err != nil {
		return fmt.Errorf("reading Lighthouse's part: %w", err)
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
	return fmt.Errorf("lighthouse answers for the zone %s too, which nobody would then: name it with --zone as well, if atoll-dns is configured to answer it, or take it out of Lighthouse's part first", zone)
}
