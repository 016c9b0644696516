package image

import (
	"cmp"
	"net/http"
	"os"
	"strings"
)

// For serves images to a node as a mirror of registries, for any tag (OCI distribution specification 1.1, pull).
// Parameter ns is the mirrored registry (containerd). If an image is missing, clients use the registry itself.
func (s *Store) For(node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "images can only be pulled from a lab's registry", http.StatusMethodNotAllowed)
			return
		}
		rest, ok := strings.CutPrefix(r.URL.Path, "/v2/")
		switch name, reference, isManifest := cutLast(rest, "/manifests/"); {
		case !ok:
			http.NotFound(w, r)
		case rest == "":
			w.WriteHeader(http.StatusOK)
		case isManifest:
			digest := reference
			if !strings.HasPrefix(reference, "sha256:") {
				name = r.URL.Query().Get("ns") + "/" + name
				digest = cmp.Or(s.manifests[key(node, name)], s.manifests[key("", name)])
			}
			s.serve(w, r, digest, typeManifest)
		default:
			_, digest, _ := cutLast(rest, "/blobs/")
			s.serve(w, r, digest, "application/octet-stream")
		}
	})
}

// serve sends a blob.
func (s *Store) serve(w http.ResponseWriter, r *http.Request, digest, mediaType string) {
	path := s.blob(digest)
	if _, err := os.Stat(path); path == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeFile(w, r, path)
}

// cutLast cuts text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
