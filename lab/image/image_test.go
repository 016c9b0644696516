package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pull requests a part of an image, as containerd does.
func pull(t *testing.T, registry *httptest.Server, path string) (status int, mediaType string, body []byte) {
	t.Helper()
	response, err := http.Get(registry.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), body
}

// An image of the host's programs can be pulled by any tag and by digest. It contains the
// libraries of the programs. A missing image returns 404, and a store that is opened again
// serves the same images.
func TestImageOfPrograms(t *testing.T) {
	program, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "images")
	store, err := NewStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	made := Image{
		Names: []string{"docker.io/library/alpine", "atoll.dev/shell"},
		Layers: []*Layer{{
			Programs: map[string]string{"/usr/bin/shell": program},
			Links:    map[string]string{"/bin/sh": "/usr/bin/shell"},
		}, {
			Files: map[string]string{"/etc/greeting": "hello\n"},
		}},
		Entrypoint: []string{"/bin/sh"}, User: "1:1", Env: map[string][]string{"n1": {"NODE=n1"}},
	}
	if err := errors.Join(store.Add(made), store.Save()); err != nil {
		t.Fatal(err)
	}
	if store, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	registry, onNode := httptest.NewServer(store.For("n2")), httptest.NewServer(store.For("n1"))
	defer registry.Close()
	defer onNode.Close()
	status, mediaType, body := pull(t, registry, "/v2/library/alpine/manifests/3.99?ns=docker.io")
	var manifest, own struct {
		Config descriptor
		Layers []descriptor
	}
	if err := json.Unmarshal(body, &manifest); err != nil || status != http.StatusOK || mediaType != typeManifest || len(manifest.Layers) != 2 {
		t.Fatalf("%d %s %v: %s", status, mediaType, err, body)
	}
	if _, _, other := pull(t, registry, "/v2/shell/manifests/latest?ns=atoll.dev"); string(other) != string(body) {
		t.Errorf("by its other name the image is %s", other)
	}
	if _, _, config := pull(t, registry, "/v2/library/alpine/blobs/"+manifest.Config.Digest); !strings.Contains(string(config), `"Entrypoint":["/bin/sh"]`) || !strings.Contains(string(config), `"User":"1:1"`) {
		t.Errorf("its configuration is %s", config)
	}
	if _, _, other := pull(t, onNode, "/v2/library/alpine/manifests/latest?ns=docker.io"); json.Unmarshal(other, &own) != nil || !slices.Equal(own.Layers, manifest.Layers) {
		t.Errorf("another node gets %s", other)
	}
	if _, _, config := pull(t, onNode, "/v2/library/alpine/blobs/"+own.Config.Digest); !strings.Contains(string(config), `"NODE=n1"`) {
		t.Errorf("its configuration there is %s", config)
	}
	var files []string
	for _, d := range manifest.Layers {
		_, _, layer := pull(t, registry, "/v2/library/alpine/blobs/"+d.Digest)
		if int64(len(layer)) != d.Size {
			t.Errorf("the layer has %d bytes, and should have %d", len(layer), d.Size)
		}
		for archive := tar.NewReader(strings.NewReader(string(layer))); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, header.Name)
		}
	}
	for _, want := range []string{"tmp/", "usr/bin/shell", "bin/sh", "etc/greeting"} {
		if !slices.Contains(files, want) {
			t.Errorf("there is no %s: %v", want, files)
		}
	}
	if !slices.ContainsFunc(files, func(f string) bool { return strings.Contains(f, "libc.so") }) {
		t.Errorf("the program lacks its libraries: %v", files)
	}
	for _, path := range []string{"/v2/library/nginx/manifests/latest?ns=docker.io", "/v2/library/alpine/manifests/latest?ns=quay.io", "/v2/library/alpine/blobs/sha256:..%2F", "/"} {
		if status, _, _ := pull(t, registry, path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}
