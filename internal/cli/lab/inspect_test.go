//go:build linux

package lab

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/lab"
)

func TestList(t *testing.T) {
	all := []summary{
		{Name: "dev", Running: 20, Units: 21, Shape: &lab.Shape{Name: "dev", Clusters: 2, Nodes: 1, IPFamily: lab.IPv4}},
		{Name: "old", Problem: "the lab is damaged or about to start"},
	}
	for format, want := range map[output.Format]string{
		output.Table: "NAME  UNITS  SHAPE\ndev   20/21  " + all[0].Shape.String() + "\nold   -      the lab is damaged or about to start\n",
		output.Name:  "dev\nold\n",
		output.YAML: `- name: dev
  running: 20
  shape:
    clusters: 2
    ipFamily: ipv4
    name: dev
    nodes: 1
  units: 21
- name: old
  problem: the lab is damaged or about to start
  running: 0
  units: 0
`,
	} {
		var got bytes.Buffer
		if err := writeList(&got, format, all); err != nil || got.String() != want {
			t.Errorf("%s:\n%s\nwant:\n%s\n%v", format, got.String(), want, err)
		}
	}
}

func TestStatus(t *testing.T) {
	parts := []part{
		{Unit: "c1/etcd", PID: 7, State: "running", MemoryBytes: 3 << 20, Address: "10.0.0.1:2379"},
		{Unit: "c1/apiserver", State: "down", Address: "10.0.0.1:6443"},
		{Unit: "c1/agent", State: podsState(lab.WorkloadStatus{Wanted: 2, Ready: 1})},
		{Unit: "c1/dns", State: podsState(lab.WorkloadStatus{})},
		{Unit: "c2/agent", State: podsState(lab.WorkloadStatus{Err: errors.New("refused")})},
		{Unit: "c2/dns", State: podsState(lab.WorkloadStatus{Err: fmt.Errorf("reading: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "atoll-dns"))})},
	}
	const want = `UNIT          PID  STATE                                    MEMORY  ADDRESS
c1/etcd       7    running                                  3 MiB   10.0.0.1:2379
c1/apiserver  -    down                                     -       10.0.0.1:6443
c1/agent      -    1 of 2 pods                              -       -
c1/dns        -    down                                     -       -
c2/agent      -    unknown: the API server does not answer  -       -
c2/dns        -    not installed                            -       -
`
	var got bytes.Buffer
	if err := writeStatus(&got, output.Table, parts); err != nil || got.String() != want {
		t.Errorf("%q\nwant\n%q\n%v", got.String(), want, err)
	}
}
