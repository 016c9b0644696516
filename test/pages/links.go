package pages

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// A Link leads from a page to a file of the repository, and optionally to a heading in it.
type Link struct {
	Page string
	Line int
	// To is a path in the repository, "" for the page itself; Anchor is the anchor of a
	// heading, or "".
	To, Anchor string
}

// At formats the position of the link.
func (l Link) At() string { return fmt.Sprintf("%s:%d", l.Page, l.Line) }

var (
	// target matches the target of a link. Targets outside the repository have a scheme.
	target  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ +(.*)$`)
	// linked matches a link in a heading. Only its text counts.
	linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	// unsaid matches the characters that GitHub omits from an anchor.
	unsaid = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
)

// linksIn returns the links of a line of text.
func linksIn(page string, line int, text string) (links []Link) {
	for _, match := range target.FindAllStringSubmatch(text, -1) {
		if strings.Contains(match[1], "://") || strings.HasPrefix(match[1], "mailto:") {
			continue
		}
		to, anchor, _ := strings.Cut(match[1], "#")
		if to != "" {
			to = path.Join(path.Dir(page), to)
		}
		links = append(links, Link{Page: page, Line: line, To: to, Anchor: anchor})
	}
	return links
}

// anchorOf returns the anchor of a heading as GitHub creates it. For equal headings it is that
// of the first.
func anchorOf(heading string) string {
	heading = linked.ReplaceAllString(heading, "$1")
	return strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}

// Broken returns the reason why a link is broken, or nil. root is the repository's folder.
func Broken(root string, pages []Page, link Link) error {
	to := link.To
	if to == "" {
		to = link.Page
	} else if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
		return fmt.Errorf("there is no %s", to)
	}
	if link.Anchor == "" {
		return nil
	}
	for _, page := range pages {
		if page.Path != to {
			continue
		}
		for _, anchor := range page.Anchors {
			if anchor == link.Anchor {
				return nil
			}
		}
		return fmt.Errorf("%s has no heading #%s", to, link.Anchor)
	}
	return fmt.Errorf("%s is not a page, so it has no #%s", to, link.Anchor)
}
