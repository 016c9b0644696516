package membership

import (
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/lab"
)

// Undeploying a clusterset deletes all its objects from the broker and no object of another
// clusterset.
func TestUndeploy(t *testing.T) {
	deployBroker(t)
	before := inventory(t, lab.Broker)
	must(t, "", "broker deploy --context broker --clusterset second")
	ends(t, 64, "", "broker undeploy --context broker --clusterset second", "This command deletes clusterset second.", "add --yes")
	if plan := must(t, "", "broker undeploy --dry-run --context broker --clusterset second"); !strings.Contains(plan, "delete Namespace second\n") || strings.Contains(plan, "atoll-clusterset") {
		t.Errorf("undeploy --dry-run printed\n%s", plan)
	}
	must(t, "", "broker undeploy --yes --context broker --clusterset second")
	expectInventory(t, lab.Broker, before)
	refused(t, "", "broker undeploy --yes --context broker --clusterset second", "there is no clusterset second")
}
