package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// The parts of a CycloneDX document (version 1.6) that are used here.
type (
	bom struct {
		BOMFormat    string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licences   []licence  `json:"licenses,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	licence struct {
		Licence struct {
			ID string `json:"id"` // SPDX
		} `json:"license"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// bill is the bill of materials of a program: the modules that the go command says it was built of.
func (o options) bill(program, name string, on platform) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("reading what %s was built of: %w", program, err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	main := component{
		Type: "application", Name: name, Version: o.version,
		PURL:       purl(info.Main.Path, o.version) + "#cmd/" + name,
		Hashes:     []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Licences:   licences([]string{"Apache-2.0"}),
		Properties: []property{{"atoll:platform", on.os + "/" + on.arch}, {"atoll:commit", o.revision}},
	}
	main.Ref = main.PURL
	document := bom{
		BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{Timestamp: o.created.Format(time.RFC3339), Component: main},
	}
	from := dependency{Ref: main.Ref}
	add := func(path, version, sum string) error {
		ids, err := licencesOf(path, version)
		if err != nil {
			return err
		}
		c := component{Type: "library", Name: path, Version: version, PURL: purl(path, version)}
		c.Ref, c.Licences = c.PURL, licences(ids)
		if sum != "" {
			c.Properties = []property{{"go:sum", sum}}
		}
		document.Components = append(document.Components, c)
		from.DependsOn = append(from.DependsOn, c.Ref)
		return nil
	}
	err = add("std", strings.TrimPrefix(info.GoVersion, "go"), "")
	for _, dep := range info.Deps {
		module := replaced(dep)
		err = errors.Join(err, add(module.Path, module.Version, module.Sum))
	}
	if err != nil {
		return nil, err
	}
	document.Dependencies = append(document.Dependencies, from)
	text, err := json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}

func licences(ids []string) (all []licence) {
	for _, id := range ids {
		var l licence
		l.Licence.ID = id
		all = append(all, l)
	}
	return all
}

// replaced is the module that stands in for another one, or that itself.
func replaced(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// purl is the package URL of a Go module. The type golang has its names in lower case.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
