// Package pages extracts blocks, command lines and links from the documentation for tests.
package pages

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A Block is a fenced block of a page.
type Block struct {
	// Page is the page's path in the repository. Line is the first line of the block's text.
	Page string
	Line int
	// Section is the anchor of the heading above the block.
	Section string
	// Language is the language after the fence, or "".
	Language string
	Text     string
	// File is the name under which the text before the block tells readers to save it, or "".
	File string
	// Untried is set if the text before the block says that tests do not try it.
	Untried bool
}

// At formats the position of the block.
func (b Block) At() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// A Span is inline code in the text of a page.
type Span struct {
	Page string
	Line int
	Text string
}

// Runnable reports whether tests can run the block's command lines.
func (b Block) Runnable() bool {
	return !b.Untried && (b.Language == "" || b.Language == "sh" || b.Language == "console")
}

// At formats the position of the span.
func (s Span) At() string { return fmt.Sprintf("%s:%d", s.Page, s.Line) }

// Page is a page of documentation.
type Page struct {
	Path   string
	Blocks []Block
	Spans  []Span
	Links  []Link
	// Anchors are the anchors of the page's headings.
	Anchors []string
}

// roots are the files and folders of the documentation.
var roots = []string{"README.md", "docs", "charts", "plugin/clusterset/README.md"}

// Read returns all pages of the repository in the folder root.
func Read(root string) ([]Page, error) {
	var pages []Page
	for _, from := range roots {
		err := filepath.WalkDir(filepath.Join(root, from), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			page, err := ReadOne(root, filepath.ToSlash(name))
			pages = append(pages, page)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("reading the documentation: %w", err)
		}
	}
	return pages, nil
}

// ReadOne returns the page of a path in the repository in the folder root.
func ReadOne(root, path string) (Page, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return Page{}, fmt.Errorf("reading a page: %w", err)
	}
	return Parse(path, string(text))
}

var (
	fence = regexp.MustCompile("^( *)(```+|~~~+) *([a-z]*)$")
	span  = regexp.MustCompile("`([^`\n]+)`")
	// untried matches the text that marks the next block as not tried.
	untried = regexp.MustCompile(`(?i)\bnot tried here\b`)
	// saved matches the text that tells readers to save the next block in a file.
	saved = regexp.MustCompile("\\bSave this as `([^`/]+)`")
)

// Parse parses a page.
func Parse(path, text string) (Page, error) {
	page := Page{Path: path}
	var open *Block
	var indent, closing string
	section, before := "", "" // the heading above, and the paragraph
	scanner := bufio.NewScanner(strings.NewReader(text))
	for line := 1; scanner.Scan(); line++ {
		text := scanner.Text()
		match := fence.FindStringSubmatch(text)
		switch {
		case open != nil && strings.TrimSpace(text) == closing:
			page.Blocks = append(page.Blocks, *open)
			open, before = nil, ""
		case open != nil:
			open.Text += strings.TrimPrefix(text, indent) + "\n"
		case match != nil:
			indent, closing = match[1], match[2]
			open = &Block{Page: path, Line: line + 1, Section: section, Language: match[3], Untried: untried.MatchString(before)}
			if m := saved.FindStringSubmatch(before); m != nil {
				open.File = m[1]
			}
		case strings.TrimSpace(text) == "":
			before += "\n"
		default:
			if strings.HasSuffix(before, "\n") {
				before = ""
			}
			before += text + " "
			page.Links = append(page.Links, linksIn(path, line, text)...)
			if m := heading.FindStringSubmatch(text); m != nil {
				section = anchorOf(m[1])
				page.Anchors = append(page.Anchors, section)
			}
			for _, m := range span.FindAllStringSubmatch(text, -1) {
				page.Spans = append(page.Spans, Span{path, line, m[1]})
			}
		}
	}
	if open != nil {
		return page, fmt.Errorf("%s: the block has no end", open.At())
	}
	return page, scanner.Err()
}
