// Command console bundles the pages of `atoll console`. TypeScript and styles in internal/console/web become
// internal/console/assets/app.js and app.css, with the licences of the libraries in them. `make generate` runs it in
// tools, after npm ci.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	web    = "../internal/console/web"
	assets = "../internal/console/assets"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal("console: ", err)
	}
}

func run() error {
	check := exec.Command(filepath.Join(web, "node_modules/.bin/tsc"), "-p", web)
	if out, err := check.CombinedOutput(); err != nil {
		return fmt.Errorf("checking the types: %w\n%s", err, out)
	}
	bundle := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: web + "/src/main.tsx", OutputPath: "app"}, {InputPath: web + "/src/app.css", OutputPath: "app"}},
		Outdir:              assets, Bundle: true, Write: true, Metafile: true,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		Format: api.FormatIIFE, Target: api.ES2022, JSX: api.JSXAutomatic, JSXImportSource: "preact",
		// One line would be a change of everything each time.
		LineLimit: 160,
	})
	if len(bundle.Errors) > 0 {
		return errors.New(strings.Join(api.FormatMessages(bundle.Errors, api.FormatMessagesOptions{}), "\n"))
	}
	return licences(bundle.Metafile)
}

// licences writes the licences of the libraries that are in the bundle.
func licences(metafile string) error {
	const modules = web + "/node_modules/"
	var all []string
	for _, part := range strings.Split(metafile, `"`) {
		if library, found := strings.CutPrefix(part, modules); found {
			words := strings.Split(library, "/")
			n := 1
			if strings.HasPrefix(library, "@") {
				n = 2
			}
			all = append(all, strings.Join(words[:n], "/"))
		}
	}
	slices.Sort(all)
	var text strings.Builder
	text.WriteString("app.js contains these libraries.\n")
	for _, library := range slices.Compact(all) {
		licence, err := os.ReadFile(filepath.Join(modules, library, "LICENSE"))
		if err != nil {
			return fmt.Errorf("the licence of %s: %w", library, err)
		}
		fmt.Fprintf(&text, "\n== %s\n\n%s\n", library, strings.TrimSpace(string(licence)))
	}
	return os.WriteFile(filepath.Join(assets, "LICENSES"), []byte(text.String()), 0o644)
}
