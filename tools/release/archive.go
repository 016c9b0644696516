package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one of an archive, by its path in it.
type file struct {
	path    string
	mode    fs.FileMode
	content []byte
}

// writeTar writes an archive: files in their order, each after the folders that it is in, everything root's and of one time.
func writeTar(w io.Writer, at time.Time, files []file) error {
	archive := tar.NewWriter(w)
	folders := map[string]bool{".": true}
	for _, f := range files {
		for _, folder := range above(f.path) {
			if folders[folder] {
				continue
			}
			folders[folder] = true
			if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: at, Format: tar.FormatPAX}); err != nil {
				return err
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: int64(f.mode.Perm()), Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// above are the folders that a path is in, the outermost first.
func above(name string) (folders []string) {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		folders = append(folders, folder)
	}
	slices.Reverse(folders)
	return folders
}

// tarGzip is such an archive, compressed.
func tarGzip(at time.Time, files []file) ([]byte, error) {
	var content bytes.Buffer
	compressed := gzip.NewWriter(&content)
	if err := writeTar(compressed, at, files); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// zipped is an archive for Windows.
func zipped(at time.Time, files []file) ([]byte, error) {
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// readFolder reads all files of a folder, sorted by their paths.
func readFolder(folder string) (files []file, err error) {
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(folder, name)
		files = append(files, file{filepath.ToSlash(within), 0o644, content})
		return err
	})
	return files, err
}

// writeFile writes a file, and the folders that it is in.
func writeFile(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}

// archives writes an archive of the program atoll for each platform that it was built for, and its bill of materials. The
// program is there under two names, for kubectl finds plugins by theirs.
func archives(o options, stdout io.Writer) error {
	licence, err := os.ReadFile(filepath.Join(o.source, "LICENSE"))
	if err != nil {
		return err
	}
	for _, suffix := range []string{"", ".exe"} {
		platforms, err := o.platformsOf("atoll" + suffix)
		if err != nil {
			if suffix != "" {
				continue // nothing was built for Windows
			}
			return err
		}
		for _, on := range platforms {
			if err := o.archive("atoll"+suffix, on, licence, stdout); err != nil {
				return err
			}
		}
	}
	return nil
}

// archive writes that of one platform.
func (o options) archive(program string, on platform, licence []byte, stdout io.Writer) error {
	built := filepath.Join(o.programs, on.String(), program)
	content, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	bill, err := o.bill(built, "atoll", on)
	if err != nil {
		return err
	}
	name := "atoll-" + o.version + "-" + on.String()
	files := []file{{name + "/" + program, 0o755, content}, {name + "/LICENSE", 0o644, licence}}
	pack, ending := tarGzip, ".tar.gz"
	if on.os == "windows" {
		pack, ending = zipped, ".zip"
	}
	packed, err := pack(o.created, files)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, filepath.Join(o.out, name+ending)+"\n"); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(o.out, name+ending), packed); err != nil {
		return err
	}
	return writeFile(filepath.Join(o.out, "sbom", strings.TrimSuffix(program, ".exe")+"-"+on.String()+".cdx.json"), bill)
}
