package membership

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/planes"
)

// The patterns of --closed-namespaces close namespaces to exports, until an administrator opens one by its label, or the patterns
// change.
func TestClosedToExports(t *testing.T) {
	deployBroker(t)
	file := joinFile(t, "c1")
	must(t, file, "join - --no-workloads --context c1 --agent-arg=--closed-namespaces=*-system,vault")
	t.Cleanup(func() { must(t, "", "leave --yes --context c1") })
	for _, ns := range []string{"cert-system", "vault", "vaults", "systems"} {
		create(t, "c1", namespace(ns))
	}
	open := func(ns string) error { return on["c1"].Create(t.Context(), export(ns, "web"), client.DryRunAll) }
	closed := func(ns string) error {
		if err := open(ns); !apierrors.IsForbidden(err) {
			return fmt.Errorf("an export of namespace %s: %v", ns, err)
		}
		return nil
	}
	eventually(t, "both are closed", func() error { return errors.Join(closed("cert-system"), closed("vault")) })
	for _, ns := range []string{"vaults", "systems"} {
		noError(t, open(ns))
	}
	planes.Change(t, on["c1"], namespace("vault"), func(n *corev1.Namespace) {
		metav1.SetMetaDataLabel(&n.ObjectMeta, names.LabelExports, names.ExportsAllowed)
	})
	eventually(t, "the label opens one", func() error { return open("vault") })
	must(t, file, "join - --no-workloads --context c1 --agent-arg=--closed-namespaces=vault*")
	eventually(t, "the patterns have changed", func() error {
		return errors.Join(closed("vaults"), open("cert-system"))
	})
}
