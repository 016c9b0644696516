package membership

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// The broker's administrators can set, list and reset the permissions of members, and the list
// shows refused exports.
func TestPermissionsOfMembers(t *testing.T) {
	refused(t, "", "broker members list --context broker --clusterset nowhere", "there is no clusterset nowhere", "atoll broker deploy")
	deployBroker(t)
	permitAllAfterwards(t)
	const members = "broker members "
	const at = " --context broker"
	for line, words := range map[string][]string{
		"set":                               {"the argument CLUSTER is missing"},
		"set c2":                            {"no setting", "--namespaces", "--ranges", "--drained", "--frozen"},
		"set c2 --namespaces=":              {"--namespaces is empty", "--no-namespaces"},
		"set c2 --namespaces Shop,shop,a*b": {`"Shop" is neither`, `"a*b" is neither`},
		"set c2 --namespaces shop --no-namespaces": {"none of the others can be"},
		"set c2 --ranges=":                         {"--ranges is empty", "any"},
		"set c2 --ranges 10.1.2.3":                 {`"10.1.2.3" is an address, not an address range`, "10.1.2.3/32"},
		"set c2 --ranges 10.1.2.3/16,x":            {"10.1.0.0/16", `"x" is not an address range`},
		"set c2 --namespaces shop --ranges x":      {`"x" is not an address range`}, // an invalid flag must not write the other
		"set C2 --ranges 10.1.0.0/16":              {"C2"},
		"list c9":                                  {"cluster c9 is not a member"},
		"set c2 --ranges 10.1.0.0/16 -o sheet":     {"json"},
	} {
		r := atoll("", members+line+at)
		if r.Status == 0 {
			t.Errorf("atoll %s%s succeeded, but must fail", members, line)
		}
		planes.Says(t, members+line, r.Stderr, words...)
	}
	expectPermitted(t, map[string]string{})

	// The permissions can be set before the cluster is a member. --dry-run writes nothing.
	must(t, "", members+"set c2 --ranges 10.2.0.0/16 --namespaces shop --dry-run"+at)
	expectPermitted(t, map[string]string{})
	r := atoll("", members+"set c2 --ranges 10.2.0.0/16,fd00:2::/48,10.2.3.0/24"+at)
	if r.Status != 0 || !strings.Contains(r.Stderr, "c2 is not a member yet") || strings.Contains(r.Stderr, "did not exist and has been created") || strings.Contains(r.Stderr, "older version") {
		t.Errorf("status %d\n%s", r.Status, r.Stderr)
	}
	expectPermitted(t, map[string]string{"ranges.c2": "10.2.0.0/16, fd00:2::/48"})

	c2 := asMember(t, invited(t, "c2"))
	removedAfterwards(t, "c2")
	published := objects.Published("c2", "shop", "web", "web", "10.2.0.1", "10.3.0.1", "10.2.0.2")
	planes.Create(t, c2, objects.Member("c2"), objects.Lease("c2"), objects.Record("c2", "shop", "web"), objects.Record("c2", "team-a-x", "api"), published)
	must(t, "", members+"set c3 --no-namespaces"+at)
	must(t, "", members+"set c2 --namespaces team-a-*"+at)
	must(t, "", "broker deploy --context broker") // deploying again changes nothing
	all := map[string]string{"ranges.c2": "10.2.0.0/16, fd00:2::/48", "namespaces.c2": "team-a-*", "namespaces.c3": ""}
	expectPermitted(t, all)
	if table := must(t, "", members+"list -o wide"+at); strings.Join(strings.Fields(table), " ") != "CLUSTER NAMESPACES OWNS EXPORTS REFUSED RANGES ADDRESSES OUTSIDE DRAINED FROZEN MISTAKES RECORDS SLICES EXAMPLES "+
		"c2 team-a-* - 2 1 10.2.0.0/16,fd00:2::/48 3 1 - - - 2 1 shop/web,10.3.0.1 (shop/web) c3 none - 0 0 any 0 0 - - - 0 0 -" {
		t.Errorf("the table is\n%s", table)
	}
	var rows []struct {
		Cluster                                   string
		Member, AnyAddress                        bool
		Namespaces, Ranges                        []string
		Exports, NotPermitted, Addresses, Outside int
	}
	if err := json.Unmarshal([]byte(must(t, "", members+"list c2 -o json"+at)), &rows); err != nil || len(rows) != 1 ||
		!rows[0].Member || rows[0].AnyAddress || len(rows[0].Ranges) != 2 || !slices.Equal(rows[0].Namespaces, []string{"team-a-*"}) || rows[0].Addresses != 3 || rows[0].Outside != 1 || rows[0].Exports != 2 || rows[0].NotPermitted != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	r = atoll("", members+"set c2 --ranges 10.3.0.0/16 --namespaces *,shop --dry-run -o yaml"+at)
	if !strings.Contains(r.Stderr, "2 of the 3 addresses that cluster c2 publishes are outside") || !strings.Contains(r.Stderr, "The command changed nothing") ||
		!strings.Contains(r.Stdout, "- 10.3.0.0/16") || strings.Contains(r.Stderr, "services that cluster c2 exports") {
		t.Errorf("%s\n%s", r.Stdout, r.Stderr)
	}
	r = atoll("", members+"set c2 --no-namespaces --dry-run"+at)
	if !strings.Contains(r.Stderr, "2 of the 2 services that cluster c2 exports are in namespaces that the cluster may not export") {
		t.Errorf("%s", r.Stderr)
	}
	expectPermitted(t, all)

	// The command reports invalid entries that an administrator wrote by hand.
	config := permitted("")
	planes.Read(t, on[lab.Broker], config)
	config.Data["ranges.c2"], config.Data["namespaces.c2"], config.Data["Somebody"] = "10.2.0.0/16 10.3.0.1", "shop, Team", "10.0.0.0/8"
	config.BinaryData = map[string][]byte{"namespaces.c4": {0xff}}
	noError(t, on[lab.Broker].Update(t.Context(), config))
	table := must(t, "", members+"list"+at)
	planes.Says(t, "the table", strings.Join(strings.Fields(table), " "), "write 10.3.0.1/32 for this address alone", `"Team" is neither`, "Somebody", "c4 none - 0 0 any")
	must(t, "", members+"set c4 --namespaces shop,shop"+at)
	must(t, "", members+"set c3 --namespaces *"+at)
	must(t, "", members+"set c2 --namespaces * --ranges any"+at)
	expectPermitted(t, map[string]string{"Somebody": "10.0.0.0/8", "namespaces.c2": "*", "namespaces.c3": "*", "namespaces.c4": "shop"})
	if rows := must(t, "", members+"list -o name"+at); rows != "Somebody\nc2\nc3\nc4\n" {
		t.Errorf("the names are\n%s", rows)
	}
	// When the ConfigMap is deleted, agents keep the last permissions, so the command reports
	// that it created a new ConfigMap.
	planes.Delete(t, on[lab.Broker], permitted(""))
	if r := atoll("", members+"set c3 --namespaces *"+at); r.Status != 0 || !strings.Contains(r.Stderr, "did not exist and has been created") || !strings.Contains(r.Stdout, "c2") {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	expectPermitted(t, map[string]string{"namespaces.c3": "*"})

	// The default is stored on the broker: deploying again without the flag does not change it.
	if r := atoll("", "broker deploy --default-exports some"+at); r.Status != 64 || !strings.Contains(r.Stderr, "the value must be allow or deny") {
		t.Errorf("status %d\n%s", r.Status, r.Stderr)
	}
	must(t, "", "broker deploy --default-exports deny"+at)
	must(t, "", "broker deploy"+at)
	expectPermitted(t, map[string]string{"namespaces": "", "namespaces.c3": "*"})
	for line, want := range map[string]string{"list": "* none - 0 0 any 0 0 - - - c2 none - 2 2 any 3 0 - - - c3 all -", "set c9 --ranges any": "c9 none - 0 0 any"} {
		planes.Says(t, line, strings.Join(strings.Fields(must(t, "", members+line+at)), " "), want)
	}
	for _, id := range []string{"c1", "c3"} {
		r := atoll(joinFile(t, id), "join - --no-workloads --context c1")
		if r.Status != 0 || strings.Contains(r.Stderr, "atoll broker members set c1 --namespaces") != (id == "c1") {
			t.Errorf("joining %s: status %d\n%s", id, r.Status, r.Stderr)
		}
		must(t, "", "leave --yes --context c1")
	}
	must(t, "", "broker deploy --default-exports allow"+at)
	expectPermitted(t, map[string]string{"namespaces": "*", "namespaces.c3": "*"})
}

// permitAllAfterwards permits members everything after the test.
func permitAllAfterwards(t *testing.T) { planes.CleanUp(t, on[lab.Broker], permitted("")) }

// expectPermitted checks the permissions on the broker.
func expectPermitted(t *testing.T, want map[string]string) {
	t.Helper()
	have := permitted("")
	if planes.Read(t, on[lab.Broker], have); !maps.Equal(have.Data, want) || len(have.BinaryData) > 0 {
		t.Errorf("the permissions are %v, %v, want %v", have.Data, have.BinaryData, want)
	}
}
