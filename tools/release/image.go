package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user of the images, the one that the manifests name too.
const nobody = "65532:65532"

// programs are those that have an image, with what it says of them.
var programs = []struct{ name, title string }{
	{"atoll-agent", "Atoll's controller in a member cluster"},
	{"atoll-dns", "CoreDNS with the names of a clusterset"},
	{"atoll-hub", "Atoll's controller of MultiClusterServices"},
	{"atoll-console", "Atoll's pages about a clusterset, for viewers in a browser"},
}

// images writes an image of each program, for all platforms that it was built for, and its bills of materials.
func images(o options, stdout io.Writer) error {
	roots, err := rootCertificates()
	if err != nil {
		return err
	}
	for _, p := range programs {
		platforms, err := o.platformsOf(p.name)
		if err != nil {
			return err
		}
		index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		for _, on := range platforms {
			if on.os != "linux" {
				continue
			}
			image, err := o.image(p.name, p.title, on, roots)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p.name, on, err)
			}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{
				Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: on.os, Architecture: on.arch}},
			})
		}
		if err := o.save(p.name, index, stdout); err != nil {
			return fmt.Errorf("saving %s: %w", p.name, err)
		}
	}
	return nil
}

// image is that of one program for one platform: the program, the certificate authorities of the public, for brokers that
// have a certificate of one of those, and the bill of materials.
func (o options) image(name, title string, on platform, roots []byte) (v1.Image, error) {
	program, err := os.ReadFile(filepath.Join(o.programs, on.String(), name))
	if err != nil {
		return nil, err
	}
	bill, err := o.bill(filepath.Join(o.programs, on.String(), name), name, on)
	if err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(o.out, "sbom", name+"-"+on.String()+".cdx.json"), bill); err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: on.os, Architecture: on.arch, Created: v1.Time{Time: o.created},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/" + name}, User: nobody, WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title": name, "org.opencontainers.image.description": title,
				"org.opencontainers.image.version": o.version, "org.opencontainers.image.revision": o.revision,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	})
	if err != nil {
		return nil, err
	}
	for _, l := range []struct {
		what  string
		files []file
	}{
		{"certificate authorities", []file{{"etc/ssl/certs/ca-certificates.crt", 0o644, roots}}},
		{name, []file{{name, 0o755, program}, {"usr/share/sbom/" + name + ".cdx.json", 0o644, bill}}},
	} {
		layer, err := o.layer(l.files)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, History: v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "make images", Comment: l.what},
		})
		if err != nil {
			return nil, err
		}
	}
	return image, nil
}

// layer is one of an image, with these files.
func (o options) layer(files []file) (v1.Layer, error) {
	var content bytes.Buffer
	if err := writeTar(&content, o.created, files); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

// rootCertificates are Mozilla's, but for those that are good for a part of all certificates only, which a file can't say.
func rootCertificates() ([]byte, error) {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

// save writes an image as an OCI layout in a tar file, and tells its digest.
func (o options) save(name string, index v1.ImageIndex, stdout io.Writer) error {
	folder, err := os.MkdirTemp("", "atoll-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	reference := path.Join(o.registry, name) + ":" + o.version
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": o.version, "io.containerd.image.name": reference,
	})); err != nil {
		return err
	}
	files, err := readFolder(folder)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := writeTar(&content, o.created, files); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	target := filepath.Join(o.out, "images", name+"-"+o.version+".oci.tar")
	fmt.Fprintf(stdout, "%s@%s %s\n", reference, digest, target)
	if err := writeFile(target, content.Bytes()); err != nil {
		return err
	}
	return writeFile(filepath.Join(o.out, "images", name+".digest"), []byte(reference+"@"+digest.String()+"\n"))
}
