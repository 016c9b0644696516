package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const docs = "../../docs"

// Pictures with a source are as the command draws them.
func TestCurrent(t *testing.T) {
	pictures, err := drawAll(docs + "/images/sources")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pictures {
		if got, err := os.ReadFile(filepath.Join(docs, "images", name)); err != nil || string(got) != want {
			t.Errorf("%s is not drawn from its source (%v): run go run -C tools ./pictures", name, err)
		}
	}
}

// A page shows each picture, and each is complete and readable on a dark page.
func TestPictures(t *testing.T) {
	pages := text(t, docs, ".md") + text(t, "../../README.md", ".md")
	files, err := filepath.Glob(docs + "/images/*.svg")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		svg, err := os.ReadFile(file)
		if err == nil {
			err = faults(string(svg))
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if !strings.Contains(pages, "images/"+filepath.Base(file)) {
			t.Errorf("no page shows %s", file)
		}
	}
}

func TestFaultsAreFound(t *testing.T) {
	const frame = `<svg viewBox="0 0 100 10" font-size="10"><title>x</title><style>@media (prefers-color-scheme: dark){}</style>%s</svg>`
	if err := faults(fmt.Sprintf(frame, `<text x="10">short</text>`)); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{
		fmt.Sprintf(frame, `<text x="10">this text is longer than the picture</text>`),
		fmt.Sprintf(frame, `<text x="90" text-anchor="middle">too long</text>`),
		fmt.Sprintf(frame, `<text x="-1">x</text>`),
		strings.Replace(fmt.Sprintf(frame, ""), "dark", "light", 1),
		strings.Replace(fmt.Sprintf(frame, ""), "<title>x</title>", "", 1),
	} {
		if faults(wrong) == nil {
			t.Errorf("%s passes", wrong)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, text := range []string{"", "short", "  " + strings.Repeat("word ", 60), strings.Repeat("x", 300)} {
		parts := wrap(text)
		for _, part := range parts {
			if utf8.RuneCountInString(part) > columns {
				t.Errorf("%q is too long", part)
			}
		}
		if got := strings.Join(strings.Fields(strings.Join(parts, " ")), ""); got != strings.Join(strings.Fields(text), "") {
			t.Errorf("%q instead of %q", got, text)
		}
	}
}

// text returns the text of all files below a folder.
func text(t *testing.T, folder, extension string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != extension {
			return err
		}
		page, err := os.ReadFile(path)
		b.Write(page)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var fontSize = regexp.MustCompile(`font-size:([\d.]+)px`)

// faults returns what is wrong with a picture: no title, nothing for dark pages, text outside of the picture.
func faults(svg string) (err error) {
	if !strings.Contains(svg, "prefers-color-scheme: dark") {
		err = errors.New("no rule for dark pages")
	}
	if !strings.Contains(svg, "<title>") {
		err = errors.Join(err, errors.New("no title"))
	}
	width, size := 0.0, 0.0
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, readErr := decoder.Token()
		if readErr != nil {
			if !errors.Is(readErr, io.EOF) {
				err = errors.Join(err, readErr)
			}
			return err
		}
		element, ok := token.(xml.StartElement)
		if !ok || element.Name.Local != "svg" && element.Name.Local != "text" {
			continue
		}
		attributes := map[string]string{}
		for _, a := range element.Attr {
			attributes[a.Name.Local] = a.Value
		}
		own := number(attributes["font-size"])
		if m := fontSize.FindStringSubmatch(attributes["style"]); m != nil {
			own = number(m[1])
		}
		if element.Name.Local == "svg" {
			if box := strings.Fields(attributes["viewBox"]); len(box) == 4 {
				width = number(box[2])
			}
			size = own
			continue
		}
		var content string
		if readErr := decoder.DecodeElement(&content, &element); readErr != nil {
			return errors.Join(err, readErr)
		}
		if own == 0 {
			own = size
		}
		length := number(attributes["textLength"])
		if length == 0 {
			length = 0.55 * own * float64(utf8.RuneCountInString(content)) // of a proportional font, on average
		}
		begin := number(attributes["x"])
		switch attributes["text-anchor"] {
		case "middle":
			begin -= length / 2
		case "end":
			begin -= length
		}
		if turned := strings.Contains(attributes["transform"], "rotate"); !turned && (begin < 0 || begin+length > width) {
			err = errors.Join(err, fmt.Errorf("%q is from %.0f to %.0f in a picture of %.0f", content, begin, begin+length, width))
		}
	}
}

func number(text string) float64 {
	value, _ := strconv.ParseFloat(text, 64)
	return value
}
