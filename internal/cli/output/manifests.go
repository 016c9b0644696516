package output

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/install"
)

const kustomization = "kustomization.yaml"

// Manifests writes objects to standard output or a directory.
type Manifests struct {
	format Format
	dir    string
}

// Part is a file's objects.
type Part struct {
	// Name is the file's name without extension.
	Name    string
	Objects []*unstructured.Unstructured
}

// AddFlags adds the flags.
func (m *Manifests) AddFlags(flags *pflag.FlagSet) {
	AddFlag(flags, &m.format, YAML, JSON)
	flags.StringVar(&m.dir, "output-dir", "", "directory for YAML files and a kustomization.yaml; default is to write to standard output")
}

// Write writes all parts that have objects.
func (m *Manifests) Write(cmd *cobra.Command, parts ...Part) error {
	if m.dir != "" {
		return m.files(cmd, parts)
	}
	var all []*unstructured.Unstructured
	for _, p := range parts {
		all = append(all, p.Objects...)
	}
	if m.format == JSON {
		return Write(cmd.OutOrStdout(), JSON, map[string]any{"apiVersion": "v1", "kind": "List", "items": all}, nil)
	}
	return install.Write(Raw(cmd.OutOrStdout()), all...)
}

// files writes each part to a file, and a kustomization of them. It does not overwrite a kustomization that another
// program wrote.
func (m *Manifests) files(cmd *cobra.Command, parts []Part) error {
	header := fmt.Sprintf("# Written by atoll render %s, which overwrites this file. Patch the objects in your own kustomization.\n", cmd.Name())
	place := filepath.Join(m.dir, kustomization)
	have, err := os.ReadFile(place)
	switch {
	case err == nil && !strings.HasPrefix(string(have), header):
		return fmt.Errorf("file %s exists, and this command did not write it: choose another directory with --output-dir", place)
	case err != nil && !os.IsNotExist(err):
		return err
	}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	var resources []string
	for _, p := range parts {
		if len(p.Objects) == 0 {
			continue
		}
		text := bytes.NewBufferString(header)
		if err := install.Write(text, p.Objects...); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if slices.ContainsFunc(p.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Secret" }) {
			mode = 0o600 // only the owner may read it
		}
		resources = append(resources, p.Name+".yaml")
		if err := m.file(cmd, p.Name+".yaml", text.Bytes(), mode); err != nil {
			return err
		}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources})
	if err != nil {
		return err
	}
	return m.file(cmd, kustomization, append([]byte(header), text...), 0o644)
}

// file writes a file, and reports it.
func (m *Manifests) file(cmd *cobra.Command, name string, content []byte, mode os.FileMode) error {
	path := filepath.Join(m.dir, name)
	if err := os.WriteFile(path, content, mode); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.ErrOrStderr(), "  wrote", path)
	return err
}
