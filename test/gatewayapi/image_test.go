package gatewayapi

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// writeImage writes an archive like that of docker save. The image contains one program without
// libraries, /usr/local/bin/NAME, and runs it.
func writeImage(archive, image, name, program string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	path := "usr/local/bin/" + name
	layer, err := tarOf(0o755, file{path, content})
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/" + path}, "Env": []string{"PATH=/usr/local/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{image}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	whole, err := tarOf(0o644, file{"manifest.json", manifest}, file{"config.json", config}, file{"layer.tar", layer})
	if err != nil {
		return err
	}
	return os.WriteFile(archive, whole, 0o600)
}

type file struct {
	name    string
	content []byte
}

// tarOf returns a tar archive of files.
func tarOf(mode int64, files ...file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: mode, Size: int64(len(f.content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
