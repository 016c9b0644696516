package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/test/charts"
	"github.com/atoll-mcs/atoll/test/pages"
	"github.com/atoll-mcs/atoll/test/planes"
)

// stepByStep lists the pages whose commands readers run in order. Scenarios run these commands
// unchanged.
var stepByStep = []string{
	"README.md", "charts/README.md", "charts/atoll-hub/README.md", "docs/explanation/concepts.md", "docs/reference/dns.md", "docs/how-to/gitops.md", "docs/how-to/install.md",
	"docs/how-to/membership.md", "docs/how-to/upgrade.md", "docs/how-to/backup.md", "docs/how-to/uninstall.md", "docs/tutorials/first-service.md", "docs/tutorials/failover.md", "docs/tutorials/conflict.md", "docs/how-to/migration.md", "docs/how-to/multiclusterservice.md", "docs/how-to/stateful.md",
}

// otherwise lists blocks of these pages that no scenario runs unchanged, with the replacement
// or the reason. A number is the number of the block in its section.
var otherwise = map[string]string{
	"README.md#see-it-work 1":                    "the demo is run by hand: as the first block it would make CI build Kubernetes before any test could fail",
	"README.md#install-it 1":                     "make release is run by hand, and Go TestReproducible packs images",
	"docs/how-to/gitops.md#the-clusters-dns 1":   "the block needs a file of the reader: the tests of internal/cli/render",
	"docs/how-to/install.md#build-the-program 1": "as README.md#install-it 1",
	"docs/how-to/install.md#kind-and-k3d 1":      "the block needs Docker",

	"docs/tutorials/first-service.md#start-three-clusters 1": "the lab of every scenario",
	"docs/tutorials/first-service.md#what-next 1":            "the lab of every scenario",
	"docs/tutorials/failover.md#disconnect-c1 1":             "the scenario lost-member",
	"docs/tutorials/failover.md#disconnect-c1 2":             "the scenario lost-member",
	"docs/tutorials/failover.md#reconnect-c1 1":              "the scenario lost-member",

	"docs/how-to/backup.md#what-to-back-up 1":                                     "reading a ConfigMap",
	"docs/how-to/backup.md#after-everything-on-the-broker-is-gone 1":              "the scenario broker-lost",
	"docs/how-to/backup.md#after-everything-on-the-broker-is-gone 2":              "the scenario lost-member",
	"docs/how-to/backup.md#after-the-namespace-or-the-definitions-were-deleted 1": "the scenario broker-lost",
	"docs/how-to/uninstall.md#take-one-cluster-out 2":                             "the tests of test/membership",
	"docs/how-to/membership.md#what-runs-in-a-member 1":                           "internal/cli/join/member_test.go",
	"docs/how-to/membership.md#join-files 1":                                      "test/membership/joinfile_test.go",
	"docs/how-to/membership.md#join-files 2":                                      "internal/cli/join/member_test.go and charts",
	"docs/how-to/membership.md#replace-a-members-credentials 1":                   "test/membership/joinfile_test.go",
	"docs/how-to/membership.md#shorter-tokens 1":                                  "test/membership, TestTokenLifetime",
	"docs/how-to/gitops.md#serviceimports-in-git 1":                               "test/integration, TestForeignServiceImportIsTakenOver",
	"docs/how-to/membership.md#lost-members 1":                                    "the scenario lost-member",
	"docs/how-to/membership.md#two-clusters-with-one-id 1":                        "test/membership/refused_test.go",
	"docs/how-to/membership.md#what-members-can-do-to-each-other 1":               "test/integration/strangers_test.go",
	"docs/how-to/membership.md#how-much-of-a-member-is-taken 1":                   "test/simulation/budget_test.go",
	"docs/how-to/stateful.md#deploy 1":                                            "the scenario's own namespaces",
	"docs/how-to/multiclusterservice.md#installing-the-hub 1":                     "a lab's broker runs no pods: the scenario hub-in-pods, in a cluster that is a broker too",
}

// A scenario runs every command of these pages, or the list of exceptions has a reason. So a
// changed page requires a changed scenario.
func TestPagesAreFollowed(t *testing.T) {
	followed := map[string]bool{} // page#section and number
	for _, script := range scripts(t) {
		for _, c := range script.calls() {
			if c.verb.Name != "follow" {
				continue
			}
			var args []string
			for _, w := range c.words[1:] {
				args = append(args, w.String())
			}
			blocks, _, _, err := parseFollow(args)
			planes.NoError(t, err)
			for _, b := range blocks {
				followed[b.At()] = true
			}
		}
	}
	for _, path := range stepByStep {
		page, err := pages.ReadOne(charts.Root(), path)
		planes.NoError(t, err)
		in := map[string]int{}
		for _, b := range page.Blocks {
			if !b.Runnable() {
				continue
			}
			in[b.Section]++
			name := fmt.Sprintf("%s#%s %d", path, b.Section, in[b.Section])
			_, excused := otherwise[name]
			switch {
			case followed[b.At()] && excused:
				t.Errorf("A scenario follows %s (%s). Remove the block from the list of exceptions.", name, b.At())
			case !followed[b.At()] && !excused:
				t.Errorf("No scenario follows %s (%s). Follow the block in a scenario, or add it to the list of exceptions.", name, b.At())
			}
		}
	}
	for name := range otherwise {
		path, _, _ := strings.Cut(name, "#")
		if !slices.Contains(stepByStep, path) {
			t.Errorf("exception %s is on no page that scenarios follow", name)
		}
	}
}

// The follow verb runs the selected blocks of a page with replacements. Mistakes are found
// before a lab starts.
func TestFollow(t *testing.T) {
	lab := saying("done\n")
	script := "follow c2 docs/explanation/concepts.md#a-first-export 1 shop=mine c1=c9\nstdout '^done$'\n"
	planes.NoError(t, execute(t, lab, script))
	if !slices.Equal(lab.calls, []string{"c2 shell  atoll export web -n mine --context c9"}) {
		t.Errorf("follow ran %q", lab.calls)
	}
	lab.answer = func(string, Command) Result { return Result{Err: errors.New("exit status 1")} }
	fails(t, execute(t, lab, script), 1, "exit status 1")
	for line, want := range map[string]string{
		"follow c1 docs/explanation/concepts.md":                     "has no section",
		"follow c1 docs/nosuch.md#a":                                 "no such file",
		"follow c1 docs/explanation/concepts.md#nosuch":              "no commands in a section #nosuch",
		"follow c1 docs/explanation/concepts.md#a-first-export 9":    "no block 9",
		"follow c1 docs/explanation/concepts.md#a-first-export x":    "neither",
		"follow c7 docs/explanation/concepts.md#a-first-export":      `no cluster "c7"`,
		"follow c1 docs/how-to/install.md#openshift":                 "no commands", // follow does not run blocks that are not tested
		"! follow c1 docs/explanation/concepts.md#a-first-export 0 ": "no block 0",
		"follow c1 docs/how-to/migration.md#from-lighthouse 5":       "has 4 blocks",
		"follow c1 docs/reference/checks.md#checks-of-atoll-check":   "",
	} {
		_, err := Parse("x.txtar", []byte(line+"\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
