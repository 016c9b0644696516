package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A row of the import table defines the imports that packages in a folder may have besides the
// standard library.
type row struct {
	folder  string   // "a/b" itself, "a/*" each folder in a, "a/..." a and all below
	allowed []string // import path prefixes; "=" before a path excludes paths below it; "./" is this module
	open    bool     // all imports are allowed
}

// Groups of imports that several rows share.
var (
	// apiTypes are types without behavior: no client and no controller machinery.
	apiTypes = []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/mcs-api/pkg/apis", "./api"}
	// k8s.io/utils/ptr makes pointers of values for the API's optional fields.
	pure    = join(apiTypes, []string{"k8s.io/utils/ptr", "./internal/mcs"})
	clients = []string{
		"k8s.io/client-go", "k8s.io/apiextensions-apiserver/pkg/apis", "sigs.k8s.io/controller-runtime",
		"sigs.k8s.io/yaml", "github.com/go-logr/logr", "github.com/prometheus/client_golang", "golang.org/x/sync",
	}
	command = []string{"./internal/kit", "github.com/spf13/cobra", "sigs.k8s.io/controller-runtime"}
	// controllers may also import these.
	controllers = []string{"./internal/broker", "./internal/kit", "github.com/spf13/pflag", "k8s.io/klog/v2"}
)

// table is the layout of the repository (docs/explanation/architecture.md). A folder without a
// row fails the test, so add a row with its purpose and its imports first. The first matching
// row counts.
var table = []row{
	// Thin mains. Each starts a single package.
	{folder: "cmd/atoll", allowed: join(command, []string{"./internal/cli"})},
	{folder: "cmd/atoll-agent", allowed: join(command, []string{"./internal/agent", "./internal/doctor/probe"})},
	{folder: "cmd/atoll-console", allowed: join(command, []string{"./internal/console"})},
	{folder: "cmd/atoll-hub", allowed: []string{"./hub"}},
	{folder: "hub", allowed: join(command, []string{"./internal/hub"})}, // other projects' mains import it too
	{folder: "cmd/atoll-dns", allowed: []string{"./plugin/coredns"}},

	// Types of the wire protocol, and the interface for other projects.
	{folder: "api/...", allowed: apiTypes},
	{folder: "cloudprovider", allowed: apiTypes},
	// Providers, and the code that providers share which assign addresses and backends
	// themselves.
	{folder: "cloudprovider/...", allowed: join(apiTypes, []string{"github.com/pires/go-proxyproto", "k8s.io/utils/lru"})},

	// The rules: pure functions of values.
	{folder: "internal/mcs/names"}, // every package needs names
	{folder: "internal/mcs/...", allowed: pure},

	// Code for all controllers.
	{folder: "internal/kit/version"},
	{folder: "internal/kit/...", allowed: join(pure, clients, []string{"golang.org/x/time/rate", "k8s.io/klog/v2"})},

	// The protocol between clusters.
	{folder: "internal/broker/belief", allowed: pure},
	{folder: "internal/broker/credential", allowed: join(pure, []string{"sigs.k8s.io/yaml"})},
	{folder: "internal/broker/permissions", allowed: pure},
	{folder: "internal/broker/...", allowed: join(pure, clients, []string{"golang.org/x/time/rate", "k8s.io/utils/lru", "./internal/kit"})},

	// The member's controllers.
	{folder: "internal/agent/pace", allowed: []string{"golang.org/x/time/rate"}},
	{folder: "internal/agent/...", allowed: join(pure, clients, controllers, []string{"golang.org/x/time/rate", "k8s.io/utils/lru"})},

	// The hub imports its controllers. Controllers do not import each other.
	{folder: "internal/hub", allowed: join(pure, clients, controllers, []string{"./cloudprovider", "./internal/hub"})},
	{folder: "internal/hub/*", allowed: join(pure, clients, controllers, []string{"./cloudprovider", "k8s.io/utils/net"})},

	// Code that installs Atoll on clusters and removes it.
	{folder: "internal/install/corefile", allowed: []string{"github.com/coredns/caddy/caddyfile", "github.com/coredns/coredns/plugin"}},
	{folder: "internal/install/dnswiring", allowed: join(pure, []string{"./internal/install/corefile", "github.com/rogpeppe/go-internal/diff"})},
	{folder: "internal/install/...", allowed: join(pure, clients, []string{"./cloudprovider/haproxy", "./deploy", "./internal/broker", "./internal/kit/version"})},

	// Diagnosis: survey, explain, try and measure. The code that collects facts is separate
	// from the code that judges them.
	{folder: "internal/doctor/probe", allowed: []string{"github.com/spf13/cobra", "golang.org/x/net/dns/dnsmessage", "golang.org/x/sync/errgroup", "k8s.io/apimachinery/pkg/apis/meta/v1"}},
	{folder: "internal/doctor/spread"},
	{folder: "internal/doctor/report", allowed: join(pure, []string{"./internal/broker/layout", "./internal/broker/permissions", "./internal/doctor/survey", "./internal/install/dnswiring", "./internal/install/render"})},
	{folder: "internal/doctor/check", allowed: join(pure, []string{
		"./internal/doctor/outpost", "./internal/doctor/probe", "./internal/doctor/report", "./internal/doctor/survey", "./internal/install/dnswiring", "./internal/install/render",
	})},
	{folder: "internal/doctor/...", allowed: join(pure, clients, []string{"./deploy", "./internal/broker", "./internal/install"})},

	// The pages of atoll console. They show what the diagnosis finds.
	{folder: "internal/console", allowed: join(pure, clients, []string{"./internal/broker/credential", "./internal/doctor", "github.com/spf13/pflag"})},

	{folder: "internal/cli/...", open: true},

	// DNS works without broker and agent, so it imports neither.
	{folder: "plugin/clusterset", allowed: join(pure, clients, []string{
		"github.com/coredns", "github.com/miekg/dns", "k8s.io/klog/v2", "sigs.k8s.io/mcs-api/pkg/client",
	})},
	{folder: "plugin/tcplimit", allowed: []string{"github.com/coredns", "github.com/miekg/dns"}},
	// CoreDNS with its list of plugins, for atoll-dns and for the lab.
	{folder: "plugin/coredns", allowed: []string{"./deploy", "./internal/kit/memory", "./plugin/clusterset", "./plugin/tcplimit", "github.com/coredns"}},

	{folder: "lab/...", open: true},
	{folder: "test/...", open: true},
	{folder: "deploy/...", allowed: []string{"sigs.k8s.io/mcs-api/config/crd"}}, // embedded manifests
	{folder: "charts/...", allowed: []string{"k8s.io/apimachinery", "sigs.k8s.io/yaml", "./deploy/monitoring", "./internal/install", "./internal/mcs"}},              // and the generator
	{folder: "docs/...", allowed: []string{"./hub", "./internal/agent", "./internal/cli", "./internal/console", "github.com/spf13/cobra", "github.com/spf13/pflag"}}, // generators of pages
	{folder: "tools/...", open: true}, // a module of its own
}

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// fits reports whether the row matches the folder.
func (r row) fits(folder string) bool {
	if base, ok := strings.CutSuffix(r.folder, "/..."); ok {
		return below(folder, base)
	}
	if base, ok := strings.CutSuffix(r.folder, "/*"); ok {
		// Subfolders of such a folder belong to it.
		rest, ok := strings.CutPrefix(folder, base+"/")
		return ok && rest != ""
	}
	return folder == r.folder
}

// home reports whether the two folders may import each other because they belong to the same
// unit.
func (r row) home(folder, other string) bool {
	if base, ok := strings.CutSuffix(r.folder, "/*"); ok {
		first, _, _ := strings.Cut(strings.TrimPrefix(folder, base+"/"), "/")
		return below(other, path.Join(base, first))
	}
	base, whole := strings.CutSuffix(r.folder, "/...")
	return whole && below(other, base)
}

// permits reports whether code in folder may import a path.
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

// below reports whether name is folder or is inside it.
func below(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// standard reports whether the path belongs to the standard library, whose paths have no dot in
// the first element.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// rowOf returns the first row that matches the folder.
func rowOf(rows []row, folder string) (row, bool) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.fits(folder) })
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

// folders finds packages in folders without a row.
func folders(rows []row, packages []Package) (broken []string) {
	for _, p := range packages {
		if _, ok := rowOf(rows, p.Path); !ok {
			broken = append(broken, fmt.Sprintf("%s: no row of the import table (test/arch/imports.go) names this folder", p.Path))
		}
	}
	return broken
}

// imports finds imports that the table forbids. Tests may import any package.
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
