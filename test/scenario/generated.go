package scenario

import (
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"
)

// burst returns the file burst.yaml: the Services b0 to b9, which batter exports.
func burst() txtar.File {
	var b strings.Builder
	for i := range batterNames {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: b%d}\nspec: {selector: {app: burst}, ports: [{port: 80}]}\n", i)
	}
	return txtar.File{Name: "burst.yaml", Data: []byte(b.String())}
}

// thousand returns the file thousand.yaml, which every script can apply: a headless import of
// 1,000 endpoints that no cluster exports, to compare DNS answers. It is generated because its
// lines differ by a number only.
func thousand() txtar.File {
	var b strings.Builder
	b.WriteString(`apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: {name: thousand}
spec:
  type: Headless
  ports: [{name: web, port: 80, protocol: TCP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: thousand-by-hand
  labels:
    multicluster.kubernetes.io/service-name: thousand
    multicluster.kubernetes.io/source-cluster: c9
    endpointslice.kubernetes.io/managed-by: by-hand
addressType: IPv4
ports: [{name: web, port: 8080, protocol: TCP}]
endpoints:
`)
	for i := range 1000 {
		fmt.Fprintf(&b, "- addresses: [10.9.%d.%d]\n", i/250, i%250+1)
	}
	return txtar.File{Name: "thousand.yaml", Data: []byte(b.String())}
}
