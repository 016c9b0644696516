package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push pushes the images to the registry as they are, with the credentials of docker or podman login.
func push(o options, stdout io.Writer) error {
	for _, p := range programs {
		if err := o.push(p.name, stdout); err != nil {
			return fmt.Errorf("pushing %s: %w", p.name, err)
		}
	}
	return nil
}

func (o options) push(program string, stdout io.Writer) error {
	folder, err := os.MkdirTemp("", "atoll-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := unpack(filepath.Join(o.out, "images", program+"-"+o.version+".oci.tar"), folder); err != nil {
		return err
	}
	index, err := indexIn(folder)
	if err != nil {
		return err
	}
	reference, err := name.ParseReference(path.Join(o.registry, program) + ":" + o.version)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(reference, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s@%s\n", reference, digest)
	return err
}

// indexIn returns the index of an image in an OCI layout that has only this image.
func indexIn(folder string) (v1.ImageIndex, error) {
	all, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("the layout has %d images, not 1", len(manifest.Manifests))
	}
	return all.ImageIndex(manifest.Manifests[0].Digest)
}

// unpack writes the regular files of an archive into a folder.
func unpack(archive, folder string) error {
	in, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("%w: make images builds it", err)
	}
	defer in.Close()
	to, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer to.Close()
	for files := tar.NewReader(in); ; {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Typeflag != tar.TypeReg:
			continue
		}
		if err := to.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		out, err := to.Create(header.Name)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, files)
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}
