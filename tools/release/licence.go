package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
	"golang.org/x/mod/module"
)

// known recognizes texts of licences. Loading the texts takes a second.
var known = sync.OnceValues(assets.DefaultClassifier)

// licenceFile matches the names of files with a module's licences.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|unlicense)([.-].*)?$`)

// found are the licences of the modules that were looked at, by path and version: most programs are built of the same ones.
var found = map[string][]string{}

// licencesOf returns the SPDX identifiers of a module's licences, sorted, from the texts in the module cache. The version of the
// standard library is ignored.
func licencesOf(path, version string) ([]string, error) {
	if all := found[path+"@"+version]; all != nil {
		return all, nil
	}
	folder, err := sourceOf(path, version)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the source of %s@%s: %w", path, version, err)
	}
	recognize, err := known()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		for _, match := range recognize.Match(text).Matches {
			if isText(match) {
				all = append(all, match.Name)
			}
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil, fmt.Errorf("no licence of %s@%s was recognized: look into %s", path, version, folder)
	}
	found[path+"@"+version] = all
	return all, nil
}

// isText reports whether a match is the text of a licence, and not only a notice that names one.
func isText(match *classifier.Match) bool { return match.MatchType == "License" }

// sourceOf returns the folder with a module's source, which the build has downloaded.
func sourceOf(path, version string) (string, error) {
	if path == "std" {
		return root()
	}
	folder, err := cache()
	if err != nil {
		return "", err
	}
	escapedPath, errPath := module.EscapePath(path)
	escapedVersion, errVersion := module.EscapeVersion(version)
	if err := errors.Join(errPath, errVersion); err != nil {
		return "", err
	}
	return filepath.Join(folder, filepath.FromSlash(escapedPath)+"@"+escapedVersion), nil
}

// root and cache return the folders of the standard library's source, and of modules.
var root, cache = goEnv("GOROOT"), goEnv("GOMODCACHE")

func goEnv(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return "", fmt.Errorf("go env %s: %w", name, err)
		}
		return strings.TrimSpace(string(out)), nil
	})
}
