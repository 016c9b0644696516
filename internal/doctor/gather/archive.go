package gather

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// Archive is a tar.gz of texts without secrets.
type Archive struct {
	root string
	at   time.Time

	zip      *gzip.Writer
	tar      *tar.Writer
	files    []File
	problems []string
	err      error
}

// File is a file in an archive.
type File struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// NewArchive starts an archive with all files in the folder root.
func NewArchive(w io.Writer, root string, at time.Time) *Archive {
	zip := gzip.NewWriter(w)
	return &Archive{root: root, at: at, zip: zip, tar: tar.NewWriter(zip)}
}

// Add adds a text. Close returns the first write error.
func (a *Archive) Add(name string, text []byte) {
	a.AddRedacted(name, Redact(text))
}

// AddRedacted adds a text from which secrets have been removed.
func (a *Archive) AddRedacted(name string, text []byte) {
	if a.err == nil {
		a.err = a.write(name, text)
	}
}

func (a *Archive) write(name string, text []byte) error {
	full := path.Join(a.root, name)
	header := &tar.Header{Name: full, Mode: 0o600, Size: int64(len(text)), ModTime: a.at, Typeflag: tar.TypeReg}
	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}
	if _, err := a.tar.Write(text); err != nil {
		return err
	}
	a.files = append(a.files, File{full, len(text)})
	return nil
}

// Miss adds a line to missing.txt, about something that could not be collected.
func (a *Archive) Miss(format string, args ...any) {
	a.problems = append(a.problems, string(Redact(fmt.Appendf(nil, format, args...))))
}

// Close finishes the archive, and returns its files and the missing parts.
func (a *Archive) Close() (files []File, missing []string, err error) {
	if len(a.problems) > 0 {
		a.Add("missing.txt", []byte(strings.Join(a.problems, "\n")+"\n"))
	}
	return a.files, a.problems, errors.Join(a.err, a.tar.Close(), a.zip.Close())
}
