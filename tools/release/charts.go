package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// charts packages the Helm charts, which are in the folder charts of the repository.
func charts(o options, stdout io.Writer) error {
	found, err := filepath.Glob(filepath.Join(o.source, "charts", "*", "Chart.yaml"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("there are no charts in %s/charts", o.source)
	}
	folder, err := os.MkdirTemp("", "atoll-charts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, chart := range found {
		command := exec.Command(o.helm, "package", filepath.Dir(chart), "--version", chartVersion(o.version), "--app-version", o.version, "--destination", folder)
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, output)
		}
	}
	packed, err := readFolder(folder)
	if err != nil {
		return err
	}
	for _, p := range packed {
		again, err := o.repacked(p.content)
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		target := filepath.Join(o.out, "charts", p.path)
		fmt.Fprintln(stdout, target)
		if err := writeFile(target, again); err != nil {
			return err
		}
	}
	return nil
}

// repacked is a chart's archive with the commit's time in place of that of packing, which helm takes.
func (o options) repacked(archive []byte) ([]byte, error) {
	uncompressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	var files []file
	for reader := tar.NewReader(uncompressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		files = append(files, file{header.Name, fs.FileMode(0o644), content})
	}
	return tarGzip(o.created, files)
}

var semantic = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$`)

// chartVersion is the version of the charts, which has to be a semantic one: that of a release without its v, and of
// anything else one that is older than all releases.
func chartVersion(version string) string {
	if match := semantic.FindStringSubmatch(version); match != nil {
		return match[1]
	}
	return "0.0.0-g" + regexp.MustCompile(`[^0-9A-Za-z-]`).ReplaceAllString(version, "-")
}

// checksums writes the sums of all files in the folder, in the order of their paths.
func checksums(o options, stdout io.Writer) error {
	files, err := readFolder(o.out)
	if err != nil {
		return err
	}
	var lines []string
	var released []resource
	add := func(path string, content []byte) {
		digest := fmt.Sprintf("%x", sha256.Sum256(content))
		lines = append(lines, digest+"  "+path+"\n")
		released = append(released, resource{Name: path, Digest: map[string]string{"sha256": digest}})
	}
	for _, f := range files {
		if !slices.Contains([]string{sums, signature, provenanceFile}, f.path) && !strings.HasPrefix(f.path, "programs/") {
			add(f.path, f.content)
		}
	}
	statement, err := o.provenance(released)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(o.out, provenanceFile), statement); err != nil {
		return err
	}
	add(provenanceFile, statement)
	fmt.Fprintf(stdout, "%s: %d files\n", filepath.Join(o.out, sums), len(lines))
	text := []byte(strings.Join(lines, ""))
	if err := writeFile(filepath.Join(o.out, sums), text); err != nil || o.signingKey == "" {
		return err
	}
	return o.sign(text)
}

// sums is the name of the file with checksums, as sha256sum -c takes it.
const sums = "SHA256SUMS"
