package dns

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
)

// forbidden is a cluster that refuses all reads.
type forbidden struct{ clusterdns.Objects }

func (forbidden) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("it is forbidden")
}

// The command does not remove Lighthouse's section while Submariner's operator would write it
// again.
func TestReplaceLighthouseWhileTheOperatorRuns(t *testing.T) {
	operator := func(spec map[string]any) client.Reader {
		return clusterdns.Objects{{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
			"metadata": map[string]any{"namespace": "submariner-operator", "name": "submariner-operator"},
		}}}
	}
	const refused = "kubectl scale deployment submariner-operator -n submariner-operator --replicas=0"
	for _, tt := range []struct {
		name      string
		operator  client.Reader
		err, note string
	}{
		{name: "the operator runs", operator: operator(map[string]any{"replicas": int64(1)}), err: refused},
		{name: "the operator runs with default replicas", operator: operator(map[string]any{}), err: refused},
		{name: "the operator is stopped", operator: operator(map[string]any{"replicas": int64(0)})},
		{name: "no operator", operator: clusterdns.Objects{}},
		{name: "the operator cannot be read", operator: forbidden{}, note: "If the operator runs, stop it"},
	} {
		note, err := operatorStopped(t.Context(), tt.operator, "")
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if (note != "") != (tt.note != "") || !strings.Contains(note, tt.note) {
			t.Errorf("%s: note %q, want %q", tt.name, note, tt.note)
		}
	}
}
