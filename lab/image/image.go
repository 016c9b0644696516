// Package image builds container images from programs of this machine, and serves them to a lab's nodes as a registry.
//
// It needs no downloads and no Docker: layers are programs with the libraries that they are linked with.
package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Media types of the OCI image specification, version 1.
const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// Image is an image's contents and configuration.
type Image struct {
	// Names are the repositories that pods use, with registry, such as docker.io/library/busybox. Any tag works.
	Names []string
	// Layers are from lowest to highest. A layer of several images is built once.
	Layers []*Layer
	// Entrypoint and User are the OCI image's configuration.
	Entrypoint []string
	User       string
	// Env are additional variables (NAME=value) for a node; other nodes get none.
	Env map[string][]string
}

// Layer has the files that a layer adds, by their paths in the image.
type Layer struct {
	// Programs are files of this machine. Dynamic libraries are added.
	Programs map[string]string
	// Links are symbolic links and their targets.
	Links map[string]string
	// Files are texts.
	Files map[string]string
}

// descriptor is an OCI descriptor of a blob.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// Store is a folder with images.
type Store struct {
	dir string
	// manifests are the manifests' digests by key.
	manifests map[string]string
	layers    map[*Layer]descriptor
}

// NewStore returns an empty store. It removes the previous contents of the folder.
func NewStore(dir string) (*Store, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("creating a directory for images: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating a directory for images: %w", err)
	}
	return &Store{dir: dir, manifests: map[string]string{}, layers: map[*Layer]descriptor{}}, nil
}

// Open opens a store that Save has recorded.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir}
	data, err := os.ReadFile(s.index())
	if err == nil {
		err = json.Unmarshal(data, &s.manifests)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the list of images: %w", err)
	}
	return s, nil
}

// Save records the images.
func (s *Store) Save() error {
	data, err := json.MarshalIndent(s.manifests, "", "  ")
	if err == nil {
		err = os.WriteFile(s.index(), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("storing the list of images: %w", err)
	}
	return nil
}

func (s *Store) index() string { return filepath.Join(s.dir, "images.json") }

// blob returns a blob's file, or "" for an invalid digest.
func (s *Store) blob(digest string) string {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size {
		return ""
	}
	return filepath.Join(s.dir, sum)
}

// Add builds an image.
func (s *Store) Add(image Image) error {
	err := s.add(image)
	if err != nil {
		return fmt.Errorf("creating the image %s: %w", strings.Join(image.Names, ", "), err)
	}
	return nil
}

func (s *Store) add(image Image) error {
	var layers []descriptor
	var sums []string
	for _, l := range image.Layers {
		made, ok := s.layers[l]
		if !ok {
			var err error
			if made, err = s.write(typeLayer, l.write); err != nil {
				return err
			}
			s.layers[l] = made
		}
		layers, sums = append(layers, made), append(sums, made.Digest) // uncompressed, so the digests are equal
	}
	for _, node := range append(slices.Collect(maps.Keys(image.Env)), "") {
		env := append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, image.Env[node]...)
		config, err := s.writeJSON(typeConfig, map[string]any{
			"architecture": runtime.GOARCH, "os": "linux",
			"config": map[string]any{"Entrypoint": image.Entrypoint, "User": image.User, "Env": env},
			"rootfs": map[string]any{"type": "layers", "diff_ids": sums},
		})
		if err != nil {
			return err
		}
		manifest, err := s.writeJSON(typeManifest, map[string]any{"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": layers})
		if err != nil {
			return err
		}
		for _, name := range image.Names {
			s.manifests[key(node, name)] = manifest.Digest
		}
	}
	return nil
}

// key identifies an image for a node, "" for any node.
func key(node, name string) string { return node + " " + name }

func (s *Store) writeJSON(mediaType string, value any) (descriptor, error) {
	return s.write(mediaType, func(w io.Writer) error { return json.NewEncoder(w).Encode(value) })
}

// write writes a blob, and names it by its digest.
func (s *Store) write(mediaType string, content func(io.Writer) error) (descriptor, error) {
	file, err := os.CreateTemp(s.dir, ".blob-")
	if err != nil {
		return descriptor{}, err
	}
	defer os.Remove(file.Name()) // fails after the rename
	defer file.Close()
	sum := sha256.New()
	if err := content(io.MultiWriter(file, sum)); err != nil {
		return descriptor{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return descriptor{}, err
	}
	d := descriptor{mediaType, "sha256:" + hex.EncodeToString(sum.Sum(nil)), info.Size()}
	return d, os.Rename(file.Name(), s.blob(d.Digest))
}

// write writes a layer as a tar archive, reproducibly.
func (l *Layer) write(w io.Writer) error {
	files := maps.Clone(l.Programs)
	for _, program := range slices.Sorted(maps.Values(l.Programs)) {
		libraries, err := libraries(program)
		if err != nil {
			return err
		}
		for _, library := range libraries {
			files[library] = library
		}
	}
	archive := tar.NewWriter(w)
	made := map[string]bool{}
	header := func(name string, kind byte, mode, size int64) error {
		return archive.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Typeflag: kind, Mode: mode, Size: size, ModTime: time.Unix(0, 0)})
	}
	var folder func(name string, mode int64) error
	folder = func(name string, mode int64) error {
		if name == "/" || made[name] {
			return nil
		}
		made[name] = true
		if err := folder(path.Dir(name), 0o755); err != nil {
			return err
		}
		return header(name+"/", tar.TypeDir, mode, 0)
	}
	if err := folder("/tmp", 0o1777); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		if err := folder(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := header(name, tar.TypeReg, 0o644, int64(len(l.Files[name]))); err != nil {
			return err
		}
		if _, err := io.WriteString(archive, l.Files[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Links)) {
		if err := folder(path.Dir(name), 0o755); err != nil {
			return err
		}
		link := &tar.Header{Name: strings.TrimPrefix(name, "/"), Typeflag: tar.TypeSymlink, Linkname: l.Links[name], Mode: 0o777, ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(link); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := folder(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := copyFile(archive, header, name, files[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

func copyFile(archive io.Writer, header func(name string, kind byte, mode, size int64) error, name, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := header(name, tar.TypeReg, 0o755, info.Size()); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// loaded matches libraries in ldd's output: "libc.so.6 => /lib/libc.so.6 (0x…)" or "/lib64/ld-linux.so.2 (0x…)".
var loaded = regexp.MustCompile(`(?m)^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$`)

// libraries returns a program's dynamic libraries; none for static programs and scripts.
func libraries(program string) ([]string, error) {
	ldd := exec.Command("ldd", program)
	ldd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := ldd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "not a dynamic executable") {
		return nil, fmt.Errorf("reading the libraries of %s with ldd: %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	var all []string
	for _, match := range loaded.FindAllStringSubmatch(string(out), -1) {
		all = append(all, match[1])
	}
	return all, nil
}
