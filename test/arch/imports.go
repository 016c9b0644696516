package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A row of the import table: what packages in a folder may import besides the
// standard library.
type row struct {
	folder  string   // "a/b" itself, "a/*" each folder in a, "a/..." a and all below
	allowed []string // paths, each standing for all below it too, with "=" in front for itself alone; of this module with "./"
	open    bool     // anything
}

// The groups of imports that rows share.
var (
	// apiTypes are types without behaviour; no client, no machinery to run.
	apiTypes = []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/mcs-api/pkg/apis", "./api"}
	// k8s.io/utils/ptr makes pointers of values, as the API's optional fields are.
	pure    = join(apiTypes, []string{"k8s.io/utils/ptr", "./internal/mcs"})
	clients = []string{
		"k8s.io/client-go", "k8s.io/apiextensions-apiserver/pkg/apis", "sigs.k8s.io/controller-runtime",
		"sigs.k8s.io/yaml", "github.com/go-logr/logr", "github.com/prometheus/client_golang", "golang.org/x/sync",
	}
	command     = []string{"./internal/lifecycle", "./internal/version", "github.com/spf13/cobra", "sigs.k8s.io/controller-runtime"}
	agent       = []string{"./internal/version", "github.com/spf13/pflag", "./internal/broker", "./internal/credential", "./internal/lifecycle", "./internal/local", "./internal/metrics", "./internal/status"}
	newAgent    = []string{"./internal/agent", "./internal/broker", "./internal/kit", "./internal/liveness", "./internal/local", "./internal/metrics", "./internal/status", "k8s.io/utils/lru"}
	pureFolders = []string{"./internal/pace", "./internal/permissions", "./internal/servingcert"}
)

// table is the layout of the repository (docs/architecture.md). A folder that no row
// names fails: say there first what it is for and what it may know. Of several
// rows that fit, the first counts.
var table = []row{
	// Thin mains: each starts its one package.
	{folder: "cmd/atoll", allowed: join(command, []string{"./internal/cli"})},
	{folder: "cmd/atoll-agent", allowed: join(command, []string{"./internal/agent", "./internal/probe"})},
	{folder: "cmd/atoll-hub", allowed: []string{"./hub"}},
	{folder: "hub", allowed: join(command, []string{"./internal/hub"})}, // for mains of others, too
	{folder: "cmd/atoll-dns", allowed: []string{"./internal/coredns"}},

	// Types on the wire and the interface for others to build against.
	{folder: "api/...", allowed: apiTypes},
	{folder: "cloudprovider", allowed: apiTypes},
	// Providers, and what those have in common that share out addresses and backends by themselves.
	{folder: "cloudprovider/...", allowed: join(apiTypes, []string{"golang.org/x/sys/unix"})},

	// Pure: values in, values out.
	{folder: "internal/mcs/names"}, // which everything needs
	{folder: "internal/mcs/...", allowed: pure},
	{folder: "internal/version"},
	{folder: "internal/liveness"},
	{folder: "internal/credential", allowed: join(pure, []string{"sigs.k8s.io/yaml"})},
	{folder: "internal/pace", allowed: []string{"golang.org/x/time/rate"}},
	{folder: "internal/permissions", allowed: pure},
	{folder: "internal/servingcert"},
	{folder: "internal/corefile"},
	{folder: "internal/dnswiring", allowed: join(pure, []string{"./internal/corefile"})},

	// What talks to API servers.
	{folder: "internal/metrics", allowed: []string{"github.com/prometheus/client_golang", "k8s.io/client-go/rest"}},
	{folder: "internal/lifecycle", allowed: []string{"k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/klog/v2", "k8s.io/utils/ptr", "./internal/kit",
		"sigs.k8s.io/controller-runtime/pkg/cache", "sigs.k8s.io/controller-runtime/pkg/config", "sigs.k8s.io/controller-runtime/pkg/manager",
	}},
	{folder: "internal/broker/...", allowed: join(pure, clients, []string{"golang.org/x/time/rate", "./internal/permissions", "./internal/credential", "./internal/kit"})},
	{folder: "internal/local", allowed: join(pure, pureFolders, clients)},
	{folder: "internal/status", allowed: join(pure, clients, []string{"golang.org/x/time/rate"})},
	{folder: "internal/clusterdns", allowed: join(pure, clients, []string{"./internal/dnswiring"})},
	{folder: "internal/controllers", allowed: join(pure, pureFolders, clients, []string{"./internal/kit", "./internal/broker", "./internal/metrics", "./internal/status"})},
	// The hub's of load balancers, which it has by providers.
	{folder: "internal/controllers/loadbalancer", allowed: join(pure, pureFolders, clients, []string{"k8s.io/utils/net", "./internal/broker", "./internal/kit", "./internal/status", "./cloudprovider", "=./internal/controllers"})},
	// Not each other.
	{folder: "internal/controllers/*", allowed: join(pure, pureFolders, clients, []string{
		"./internal/broker", "./internal/credential", "./internal/kit", "./internal/local", "./internal/metrics", "./internal/status", "=./internal/controllers",
	})},
	{folder: "internal/kit", allowed: join(pure, clients, []string{"./internal/metrics"})},
	{folder: "internal/agent/status/...", allowed: join(pure, pureFolders, clients, newAgent)},
	{folder: "internal/agent/core", allowed: join(pure, pureFolders, clients, newAgent)},
	{folder: "internal/agent/...", allowed: join(pure, pureFolders, clients, agent, newAgent, []string{"k8s.io/klog/v2"})},
	{folder: "internal/hub", allowed: join(pure, pureFolders, clients, agent, []string{"./cloudprovider", "./internal/controllers", "./internal/kit", "golang.org/x/net/netutil", "k8s.io/klog/v2"})},
	{folder: "internal/cli/...", open: true},

	// What installs Atoll, and takes it away.
	{folder: "internal/install", allowed: join(pure, clients, []string{"./internal/broker"})},
	{folder: "internal/survey", allowed: join(pure, clients, []string{"./internal/broker", "./internal/clusterdns", "./internal/credential", "./internal/dnswiring", "./internal/install", "./internal/permissions", "./internal/render"})},
	{folder: "internal/report", allowed: join(pure, []string{"./internal/dnswiring", "./internal/permissions", "./internal/render", "./internal/survey"})},
	// What a pod finds out for atoll check and atoll verify, and the pods; what was found out is judged apart.
	{folder: "internal/probe", allowed: []string{"github.com/spf13/cobra", "golang.org/x/sync/errgroup"}},
	{folder: "internal/outpost", allowed: join(pure, clients, []string{"./internal/probe"})},
	{folder: "internal/check", allowed: join(pure, []string{"./internal/dnswiring", "./internal/outpost", "./internal/probe", "./internal/render", "./internal/report", "./internal/survey"})},
	{folder: "internal/gather", allowed: join(pure, clients, []string{"./internal/install", "./internal/report", "./internal/survey"})},
	// What commands have in common that try members out, and those.
	{folder: "internal/trial", allowed: join(pure, clients, []string{"./internal/report", "./internal/survey"})},
	{folder: "internal/verify", allowed: join(pure, clients, []string{
		"./internal/install", "./internal/outpost", "./internal/probe", "./internal/survey", "./internal/trial",
	})},
	{folder: "internal/spread"},
	{folder: "internal/bench", allowed: join(pure, clients, []string{
		"./internal/broker", "./internal/outpost", "./internal/spread", "./internal/trial",
	})},
	{folder: "internal/checkup", allowed: join(pure, clients, []string{
		"./deploy", "./internal/broker", "./internal/check", "./internal/clusterdns", "./internal/credential", "./internal/dnswiring", "./internal/install",
		"./internal/outpost", "./internal/probe", "./internal/render", "./internal/setup", "./internal/survey",
	})},
	{folder: "internal/render", allowed: join(pure, clients, []string{"./deploy", "./cloudprovider/haproxy", "./internal/broker", "./internal/install", "./internal/version"})},
	{folder: "internal/setup", allowed: join(pure, clients, []string{
		"./deploy", "./internal/broker", "./internal/clusterdns", "./internal/credential", "./internal/install", "./internal/permissions", "./internal/render",
	})},

	// DNS answers without broker and agent, so it knows neither.
	{folder: "plugin/clusterset", allowed: join(pure, clients, []string{
		"github.com/coredns", "github.com/miekg/dns", "k8s.io/klog/v2", "sigs.k8s.io/mcs-api/pkg/client",
	})},

	// CoreDNS with its list of plugins, for atoll-dns and the lab.
	{folder: "internal/coredns", allowed: []string{"./deploy", "./plugin/clusterset", "github.com/coredns"}},

	{folder: "lab/...", open: true},
	{folder: "test/...", open: true},
	{folder: "deploy/...", allowed: []string{"sigs.k8s.io/mcs-api/config/crd"}}, // what is installed, embedded
	{folder: "charts/...", allowed: []string{"k8s.io/apimachinery", "sigs.k8s.io/yaml", "./internal/install", "./internal/mcs", "./internal/render", "./internal/setup"}}, // and what generates them
	{folder: "docs/..."},
	{folder: "tools/...", open: true}, // a module of its own
}

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// fits says whether the row is about the folder.
func (r row) fits(folder string) bool {
	if base, ok := strings.CutSuffix(r.folder, "/..."); ok {
		return below(folder, base)
	}
	if base, ok := strings.CutSuffix(r.folder, "/*"); ok {
		// Folders within such a one belong to it.
		rest, ok := strings.CutPrefix(folder, base+"/")
		return ok && rest != ""
	}
	return folder == r.folder
}

// home says whether the two folders may import each other because they are
// parts of one thing.
func (r row) home(folder, other string) bool {
	if base, ok := strings.CutSuffix(r.folder, "/*"); ok {
		first, _, _ := strings.Cut(strings.TrimPrefix(folder, base+"/"), "/")
		return below(other, path.Join(base, first))
	}
	base, whole := strings.CutSuffix(r.folder, "/...")
	return whole && below(other, base)
}

// permits says whether code in folder may import what path names.
func (r row) permits(module, folder, imported string) bool {
	if r.open || standard(imported) {
		return true
	}
	if within, ok := strings.CutPrefix(imported, module+"/"); ok {
		if r.home(folder, within) {
			return true
		}
		imported = "./" + within
	}
	return slices.ContainsFunc(r.allowed, func(allowed string) bool {
		exact, only := strings.CutPrefix(allowed, "=")
		return imported == exact || !only && below(imported, allowed)
	})
}

// below says whether name is folder or lies in it.
func below(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// standard says whether the path is of the standard library: those have no dot
// in their first element.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// rowOf finds the row that counts for the folder.
func rowOf(rows []row, folder string) (row, bool) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.fits(folder) })
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

// folders finds packages in folders that the table does not know.
func folders(rows []row, packages []Package) (broken []string) {
	for _, p := range packages {
		if _, ok := rowOf(rows, p.Path); !ok {
			broken = append(broken, fmt.Sprintf("%s: no row of the import table (test/arch/imports.go) names this folder", p.Path))
		}
	}
	return broken
}

// imports finds imports that the table forbids. Tests may import what they
// need.
func imports(module string, rows []row, packages []Package) (broken []string) {
	for _, p := range packages {
		r, ok := rowOf(rows, p.Path)
		if !ok {
			continue
		}
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, imported := range f.Imports() {
				if !r.permits(module, p.Path, imported) {
					broken = append(broken, fmt.Sprintf("%s: %s may not import %s", f.Path, p.Path, imported))
				}
			}
		}
	}
	return broken
}
