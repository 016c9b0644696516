// Package volume fills the folders that a Pod's containers mount.
package volume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file of a volume.
type File struct {
	Data []byte
	Mode fs.FileMode
}

// Equal tells whether two volumes have the same content.
func Equal(a, b map[string]File) bool {
	return maps.EqualFunc(a, b, func(x, y File) bool { return x.Mode == y.Mode && bytes.Equal(x.Data, y.Data) })
}

// dataLink is what all visible names lead through: changing it changes all files
// at once. The names are the kubelet's, for programs know them: CoreDNS, like
// many others, ignores what begins with two dots.
const dataLink = "..data"

// Write makes dir hold exactly the files, whose names are relative paths. A
// reader sees all old or all new ones.
func Write(dir string, files map[string]File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing volume: %w", err)
	}
	old, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing volume: %w", err)
	}
	folder, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return fmt.Errorf("writing volume: %w", err)
	}
	if err := writeFiles(folder, files); err != nil {
		os.RemoveAll(folder)
		return fmt.Errorf("writing volume: %w", err)
	}
	if err := point(dir, dataLink, filepath.Base(folder)); err != nil {
		os.RemoveAll(folder)
		return fmt.Errorf("writing volume: %w", err)
	}
	if err := linkNames(dir, files); err != nil {
		return fmt.Errorf("writing volume: %w", err)
	}
	if old != "" {
		return os.RemoveAll(filepath.Join(dir, old))
	}
	return nil
}

func writeFiles(folder string, files map[string]File) error {
	if err := os.Chmod(folder, 0o755); err != nil {
		return err
	}
	for name, file := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if !strings.HasPrefix(path, folder+"/") {
			return fmt.Errorf("file %q is outside the volume", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, file.Data, file.Mode); err != nil {
			return err
		}
		if err := os.Chmod(path, file.Mode); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// point makes link lead to target, in one step.
func point(dir, link, target string) error {
	temporary := filepath.Join(dir, link+"_tmp")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(dir, link))
}

// linkNames gives the volume its visible names and takes away those that are no
// more.
func linkNames(dir string, files map[string]File) error {
	var names []string
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(names, top) {
			names = append(names, top)
		}
	}
	for _, name := range names {
		err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") && !slices.Contains(names, e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
