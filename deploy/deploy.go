// Package deploy embeds the manifests of Atoll.
package deploy

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"

	mcscrd "sigs.k8s.io/mcs-api/config/crd"
)

//go:embed crds/*.yaml agent/*.yaml dns/*.yaml hub/*.yaml
var files embed.FS

// Corefile configures atoll-dns where nobody configures it otherwise.
//
//go:embed dns/Corefile
var Corefile string

// MemberCRDs are the custom resource definitions that a member cluster needs: the
// upstream ones of the Multi-Cluster Services API, ClusterProperty and TrafficPolicy.
func MemberCRDs() [][]byte {
	upstream := [][]byte{mcscrd.ServiceExportCRD, mcscrd.ServiceImportCRD}
	return slices.Concat(upstream, read("crds/about.k8s.io_*.yaml"), read("crds/traffic.atoll.dev_*.yaml"))
}

// BrokerCRDs are the custom resource definitions that a broker needs.
func BrokerCRDs() [][]byte {
	return append([][]byte{mcscrd.ServiceImportCRD}, read("crds/broker.atoll.dev_*.yaml")...)
}

// HubCRDs are the custom resource definitions that a hub needs beside those of the broker.
func HubCRDs() [][]byte { return read("crds/networking.karmada.io_*.yaml") }

// Agent holds what a member cluster has for atoll-agent: its namespace, account and
// rights, the rights of people, and the admission policies.
func Agent() [][]byte { return read("agent/*.yaml") }

// Hub holds the namespace, account and rights of atoll-hub on a broker.
func Hub() [][]byte { return read("hub/*.yaml") }

// DNS holds the account and rights of atoll-dns in a member cluster.
func DNS() [][]byte { return read("dns/*.yaml") }

// read returns the embedded files that match a pattern, in the order of their names.
func read(pattern string) [][]byte {
	matches, err := fs.Glob(files, pattern)
	if err != nil || len(matches) == 0 {
		panic(fmt.Sprintf("no embedded manifest matches %s: %v", pattern, err)) // any test sees it
	}
	var contents [][]byte
	for _, name := range matches {
		content, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it was listed a moment ago
		}
		contents = append(contents, content)
	}
	return contents
}
