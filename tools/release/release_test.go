package main

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// small is a small program with a module, like the programs of releases.
const small = `package main

import (
	"fmt"

	"github.com/pkg/errors"
)

func main() { fmt.Println(errors.New("it runs")) }
`

// built builds a small program and copies it as all programs, for both platforms.
func built(t *testing.T) string {
	t.Helper()
	source, folder := t.TempDir(), t.TempDir()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/pkg/errors").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := "module example.test/small\n\ngo 1.26.0\n\nrequire github.com/pkg/errors " + string(version)
	sums, err := os.ReadFile(filepath.Join("..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{"main.go": small, "go.mod": module, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(source, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		target := filepath.Join(folder, "linux-"+arch, "atoll-agent")
		command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", target, ".")
		command.Dir = source
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		content, err := os.ReadFile(target)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"atoll-dns", "atoll-hub", "atoll-console", "atoll"} {
			if err := os.WriteFile(filepath.Join(folder, "linux-"+arch, other), content, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder
}

// made creates the images and archives of a release v1.2.3 and returns their folder.
func made(t *testing.T, programs string) string {
	t.Helper()
	out := t.TempDir()
	for _, command := range []string{"images", "archives", "checksums"} {
		args := []string{command, "--version", "v1.2.3", "--revision", "abc", "--epoch", "1700000000", "--programs", programs, "--source", filepath.Join("..", ".."), "--out", out}
		if err := run(args, io.Discard, io.Discard); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
	return out
}

// unpacked returns the OCI layout of an image file.
func unpacked(t *testing.T, file string) layout.Path {
	t.Helper()
	folder := t.TempDir()
	if err := unpack(file, folder); err != nil {
		t.Fatal(err)
	}
	return layout.Path(folder)
}

// theIndex returns the image index of a layout, with all platforms.
func theIndex(t *testing.T, l layout.Path) v1.ImageIndex {
	t.Helper()
	top, err := l.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %v", manifest, err)
	}
	if reference := manifest.Manifests[0].Annotations["io.containerd.image.name"]; reference != "ghcr.io/atoll-mcs/atoll-agent:v1.2.3" {
		t.Errorf("the image name is %s", reference)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// The images are valid, contain only the necessary files, and can be pushed and pulled for each
// platform. Their program runs without other files.
func TestImages(t *testing.T) {
	out := made(t, built(t))
	index := theIndex(t, unpacked(t, filepath.Join(out, "images", "atoll-agent-v1.2.3.oci.tar")))
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New())
	defer server.Close()
	mine := strings.TrimPrefix(server.URL, "http://") + "/mine"
	reference, err := name.ParseReference(mine + "/atoll-agent:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := run([]string{"push", "--version=v1.2.3", "--epoch=1", "--out=" + out, "--registry=" + mine}, &said, io.Discard); err != nil {
		t.Fatal(err)
	}
	if digest, err := index.Digest(); err != nil || !strings.Contains(said.String(), reference.String()+"@"+digest.String()) {
		t.Errorf("pushed:\n%s%v, want %s", said.String(), err, digest)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != arch || config.Config.User != nobody || !slices.Equal(config.Config.Entrypoint, []string{"/atoll-agent"}) || config.Created.Unix() != 1700000000 {
			t.Errorf("%s: %+v", arch, config)
		}
		root := extracted(t, image)
		if arch == "amd64" {
			runs(t, root)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(filepath.Join(out, "images", "atoll-agent.digest")); err != nil || string(said) != "ghcr.io/atoll-mcs/atoll-agent:v1.2.3@"+digest.String()+"\n" {
		t.Errorf("%s, %v, want %s", said, err, digest)
	}
}

// extracted extracts an image into a folder and checks that it contains only these files.
func extracted(t *testing.T, image v1.Image) string {
	t.Helper()
	root := t.TempDir()
	files := mutate.Extract(image)
	defer files.Close()
	var paths []string
	for reader := tar.NewReader(files); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Mode&0o022 != 0 || header.ModTime.Unix() != 1700000000 {
			t.Errorf("%s is of user %d, mode %o, of %v", header.Name, header.Uid, header.Mode, header.ModTime)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		paths = append(paths, header.Name)
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(root, header.Name)
		if err := writeFile(target, content); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(target, os.FileMode(header.Mode)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(header.Name, ".crt") && !x509.NewCertPool().AppendCertsFromPEM(content) {
			t.Errorf("%s has no certificates", header.Name)
		}
	}
	slices.Sort(paths)
	if want := []string{"atoll-agent", "etc/ssl/certs/ca-certificates.crt", "usr/share/sbom/atoll-agent.cdx.json"}; !slices.Equal(paths, want) {
		t.Errorf("the image has %v", paths)
	}
	return root
}

// runs runs the program in a folder as its root.
func runs(t *testing.T, root string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("the program was not run, because this needs root")
		return
	}
	output, err := exec.Command("chroot", "--userspec="+nobody, root, "/atoll-agent").CombinedOutput()
	if err != nil || string(output) != "it runs\n" {
		t.Errorf("%v: %s", err, output)
	}
}

// The same programs in any folder give the same bytes, and other programs give different bytes.
func TestReproducible(t *testing.T) {
	programs := built(t)
	first, second := sumsIn(t, made(t, programs)), sumsIn(t, made(t, built(t)))
	if first != second {
		t.Errorf("the first release is\n%sand the second\n%s", first, second)
	}
	if strings.Count(first, "\n") != 8+2+10+1 { // images and digests, archives, bills, the provenance
		t.Errorf("unexpected files:\n%s", first)
	}
	program := filepath.Join(programs, "linux-arm64", "atoll-hub")
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, append(content, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	if sumsIn(t, made(t, programs)) == first {
		t.Error("a different program gives the same release")
	}
}

// sumsIn returns the checksums of a release after checking them.
func sumsIn(t *testing.T, out string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, sums))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join(out, file))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(content)) != sum {
			t.Errorf("%s: %v", line, err)
		}
	}
	return string(text)
}

// The signature is of the checksums, and the provenance statement of the same files. Other keys do not fit, and what is no key is
// refused.
func TestSigned(t *testing.T) {
	out := made(t, built(t))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	sign := func(content []byte) error {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return run([]string{"checksums", "--version", "v1.2.3", "--revision", "abc", "--epoch", "1700000000", "--out", out, "--signing-key", file}, io.Discard, io.Discard)
	}
	if err := sign([]byte("no key")); err == nil || !strings.Contains(err.Error(), "openssl ecparam") {
		t.Errorf("a file without a key: %v", err)
	}
	if err := sign(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, signature))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	checksums := sumsIn(t, out)
	digest := sha256.Sum256([]byte(checksums))
	if other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader); !ecdsa.VerifyASN1(&key.PublicKey, digest[:], signed) || ecdsa.VerifyASN1(&other.PublicKey, digest[:], signed) {
		t.Error("the signature is not the key's")
	}

	var s statement
	if text, err := os.ReadFile(filepath.Join(out, provenanceFile)); err != nil || json.Unmarshal(text, &s) != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var subjects strings.Builder
	for _, r := range s.Subject {
		subjects.WriteString(r.Digest["sha256"] + "  " + r.Name + "\n")
	}
	rest, _ := strings.CutPrefix(checksums, subjects.String())
	if strings.Count(rest, "\n") != 1 || !strings.HasSuffix(rest, "  "+provenanceFile+"\n") || s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != "abc" {
		t.Errorf("the statement is %+v, the checksums\n%s", s, checksums)
	}
}

// A bill of materials names each module once, with its version, checksum and licences.
func TestBill(t *testing.T) {
	out := made(t, built(t))
	text, err := os.ReadFile(filepath.Join(out, "sbom", "atoll-agent-linux-arm64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document bom
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	found := map[string]component{}
	for _, c := range document.Components {
		found[c.Name] = c
	}
	if c := found["github.com/pkg/errors"]; len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:") || c.PURL != "pkg:golang/github.com/pkg/errors@"+c.Version || len(found) != 2 || found["std"].Version == "" {
		t.Errorf("the components are %+v", document.Components)
	}
	for name, want := range map[string]string{"github.com/pkg/errors": "BSD-2-Clause", "std": "BSD-3-Clause"} {
		if all := found[name].Licences; len(all) != 1 || all[0].Licence.ID != want {
			t.Errorf("the licences of %s are %+v, want %s", name, all, want)
		}
	}
	if len(document.Dependencies) != 1 || len(document.Dependencies[0].DependsOn) != 2 || document.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("%s", text)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3-rc.1", "a53e837": "0.0.0-ga53e837", "v0.1.0-3-gabc": "0.1.0-3-gabc", "0123456": "0.0.0-g0123456", "a_b/c": "0.0.0-ga-b-c",
	} {
		if got := chartVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
	if got := purl("github.com/BurntSushi/toml", "v1+incompatible"); got != "pkg:golang/github.com/burntsushi/toml@v1%2Bincompatible" {
		t.Error(got)
	}
}

// Invalid command lines are refused, and other failures say how to fix them.
func TestRefused(t *testing.T) {
	good := []string{"--version=v1", "--epoch=1", "--out=" + t.TempDir(), "--programs=" + t.TempDir()}
	for _, tc := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{"nonsense"}, "no command", 64},
		{[]string{"images"}, "--version and --epoch", 64},
		{append([]string{"images"}, "--nonsense"), "nonsense", 64},
		{append([]string{"images", "x"}, good...), "no arguments", 64},
		{append([]string{"images"}, good...), "make images builds them first", 1},
		{append([]string{"push"}, good...), "make images builds it", 1},
		{append([]string{"archives", "--source=/nowhere"}, good...), "LICENSE", 1},
		{append([]string{"charts", "--source=/nowhere"}, good...), "no charts", 1},
	} {
		err := run(tc.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tc.want) || status(err) != tc.status {
			t.Errorf("%v: %v", tc.args, err)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"images", "-h"}, {"archives", "--help"}} {
		var out bytes.Buffer
		if err := run(args, &out, io.Discard); err != nil || !strings.Contains(out.String(), "SOURCE_DATE_EPOCH") {
			t.Errorf("%v: %v: %s", args, err, out.String())
		}
	}
}
