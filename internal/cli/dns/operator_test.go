package dns

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// forbidden is a cluster of which nothing may be read.
type forbidden struct{ clusterdns.Objects }

func (forbidden) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("it is forbidden")
}

// Lighthouse's part is not taken out while Submariner's operator would write it again.
func TestReplaceLighthouseWhileTheOperatorRuns(t *testing.T) {
	operator := func(spec map[string]any) client.Reader {
		return clusterdns.Objects{{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
			"metadata": map[string]any{"namespace": "submariner-operator", "name": "submariner-operator"},
		}}}
	}
	const root = ".:53 {\n kubernetes cluster.local\n reload\n}\n"
	const lighthouse = "#lighthouse-start\nclusterset.local:53 {\n forward . 10.0.0.1\n}\n#lighthouse-end\n"
	const refused = "kubectl scale deployment submariner-operator -n submariner-operator --replicas=0"
	for _, tt := range []struct {
		name      string
		operator  client.Reader
		corefile  string
		beside    bool // --replace-lighthouse is not given
		err, note string
	}{
		{name: "it runs", operator: operator(map[string]any{"replicas": int64(1)}), corefile: lighthouse + root, err: refused},
		{name: "it runs, by default", operator: operator(map[string]any{}), corefile: root + lighthouse, err: refused},
		{name: "it is stopped", operator: operator(map[string]any{"replicas": int64(0)}), corefile: lighthouse + root},
		{name: "it is not there", operator: clusterdns.Objects{}, corefile: lighthouse + root},
		{name: "nobody knows", operator: forbidden{}, corefile: lighthouse + root, note: "if Submariner's operator runs, stop it"},
		{name: "nothing is replaced", operator: operator(map[string]any{}), corefile: root},
		{name: "nothing is replaced, and nobody knows", operator: forbidden{}, corefile: root},
		{name: "nor is it asked for", operator: operator(map[string]any{}), corefile: lighthouse + root, beside: true, err: "then use --replace-lighthouse"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := installOptions{wiring: dnswiring.Wiring{
				Zones: []string{"clusterset.local"}, Servers: []netip.Addr{netip.MustParseAddr("10.0.0.9")}, ReplaceLighthouse: !tt.beside,
			}}
			changes, err := o.decision(t.Context(), tt.operator)(dnswiring.Cluster{CoreDNS: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}, Data: map[string]string{"Corefile": tt.corefile},
			}})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || len(changes) > 0 {
					t.Fatalf("got %v and %d changes, want %s", err, len(changes), tt.err)
				}
				return
			}
			if err != nil || len(changes) != 1 || changes[0].None() {
				t.Fatalf("got %v and changes %v", err, changes)
			}
			if notes := strings.Join(changes[0].Warnings, "\n"); (notes != "") != (tt.note != "") || !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}
