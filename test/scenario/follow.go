package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/test/charts"
	"github.com/atoll-mcs/atoll/test/pages"
)

// followTime limits the time of a section's commands.
const followTime = 5 * time.Minute

func followVerbs() []Verb {
	return []Verb{{
		Name: "follow", Args: "CLUSTER PAGE#SECTION [N…] [A=B…]", Min: 2, Max: -1, Takes: followTime,
		Summary: "runs the commands of a documentation section: all blocks not marked \"not tried here\", or the Nth blocks, with B instead of every A. " +
			"Each cluster and the `broker` have a context; CLUSTER's context is current. The working directory contains `charts`, and the blocks that the page says to save (\"Save this as `web.yaml`\"). It keeps its files until the scenario ends",
		Check: func(s *Script, _ bool, args []string) error {
			if _, _, _, err := parseFollow(args[1:]); err != nil {
				return err
			}
			return s.checkCluster(args[0], true)
		},
		Run: runFollow,
	}}
}

// parseFollow returns the blocks of commands, the section's files, and the replacements for their text.
func parseFollow(args []string) (blocks, files []pages.Block, changes *strings.Replacer, err error) {
	path, section, ok := strings.Cut(args[0], "#")
	if !ok {
		return nil, nil, nil, fmt.Errorf("%s has no section: use PAGE#SECTION", args[0])
	}
	var wanted []int
	var pairs []string
	for _, arg := range args[1:] {
		if n, err := strconv.Atoi(arg); err == nil {
			wanted = append(wanted, n)
		} else if from, to, ok := strings.Cut(arg, "="); ok && from != "" {
			pairs = append(pairs, from, to)
		} else if arg != unknown {
			return nil, nil, nil, fmt.Errorf("%s is neither the number of a block nor A=B", arg)
		}
	}
	page, err := pages.ReadOne(charts.Root(), path)
	if err != nil {
		return nil, nil, nil, err
	}
	var all []pages.Block
	for _, b := range page.Blocks {
		switch {
		case b.Section != section:
		case b.File != "":
			files = append(files, b)
		case b.Runnable():
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil, nil, nil, fmt.Errorf("%s has no commands in a section #%s", path, section)
	}
	if len(wanted) == 0 {
		blocks = all
	}
	for _, n := range wanted {
		if n < 1 || n > len(all) {
			return nil, nil, nil, fmt.Errorf("%s has %d blocks of commands, and no block %d", args[0], len(all), n)
		}
		blocks = append(blocks, all[n-1])
	}
	return blocks, files, strings.NewReplacer(pairs...), nil
}

func runFollow(ctx context.Context, r *Run, args []string) error {
	blocks, files, changes, err := parseFollow(args[1:])
	if err != nil {
		return usageErrorf("%v", err)
	}
	if r.folder == "" {
		if r.folder, err = newFolder(); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(r.folder, file.File), []byte(changes.Replace(file.Text)), 0o600); err != nil {
			return fmt.Errorf("saving a file of %s: %w", file.At(), err)
		}
	}
	var text strings.Builder
	for _, block := range blocks {
		text.WriteString(pages.Script(block.Text))
	}
	script := changes.Replace(text.String())
	if !r.script.Shape.Empty && strings.Contains(script, "atoll dns ") {
		for _, cluster := range r.lab.Shape().names() {
			r.rewired[cluster] = true
		}
	}
	result := r.do(ctx, args[0], Command{Program: "shell", Folder: r.folder, Stdin: script})
	r.output = result.text()
	return result.Err
}

// newFolder creates a folder in which commands find the files of a clone of the repository.
func newFolder() (string, error) {
	folder, err := os.MkdirTemp("", "atoll-follow-")
	if err != nil {
		return "", fmt.Errorf("making a folder: %w", err)
	}
	from, err := filepath.Abs(filepath.Join(charts.Root(), "charts"))
	if err == nil {
		err = os.Symlink(from, filepath.Join(folder, "charts"))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("making a folder: %w", err), os.RemoveAll(folder))
	}
	return folder, nil
}
