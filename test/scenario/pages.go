package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// pagesVerbs returns the verb that looks at the pages of atoll console.
func pagesVerbs() []Verb {
	return []Verb{{
		Name: "pages", Args: "NS", Min: 1, Max: 1,
		Summary: "tests the pages of `atoll console` in Chromium, while it exports the namespace's Service `web`, causes a conflict, and drains and stops a cluster (internal/console/web/test.mjs; `make browser` installs what it needs)",
		Run: func(ctx context.Context, r *Run, args []string) error {
			repository, err := filepath.Abs(filepath.Join("..", ".."))
			if err != nil {
				return err
			}
			web := filepath.Join(repository, "internal", "console", "web")
			if _, err := os.Stat(filepath.Join(web, "node_modules")); err != nil {
				return fmt.Errorf("the browser's driver is not installed, run make browser: %w", err)
			}
			folder, err := os.MkdirTemp("", "atoll-pages-")
			if err != nil {
				return err
			}
			r.killed["c2/apiserver"] = true
			script := fmt.Sprintf("ATOLL=$(command -v atoll) node %s %s %s", filepath.Join(web, "test.mjs"), args[0], os.Getenv("ATOLL_PICTURES"))
			result := r.do(ctx, "c1", Command{Program: "shell", Folder: folder, Stdin: script})
			r.output = result.Stdout
			r.log("%s", result.Stdout) // how long what took
			return errors.Join(result.Err, os.RemoveAll(folder))
		},
	}}
}
