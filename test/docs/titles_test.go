package docs

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A page has one title: its heading, its name in the navigation of site/navigation.json, and the text of its link in docs/README.md.
func TestTitles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "site/navigation.json"))
	if err != nil {
		t.Fatal(err)
	}
	var sections []struct {
		Pages []struct{ Title, Page string }
	}
	if err := json.Unmarshal(text, &sections); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(root, "docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string][]string{}
	for _, m := range regexp.MustCompile(`\[([^\]]+)\]\(([^)]+\.md)\)`).FindAllStringSubmatch(string(index), -1) {
		linked[m[2]] = append(linked[m[2]], plain(m[1]))
	}
	pages := map[string]string{}
	for _, s := range sections {
		for _, p := range s.Pages {
			pages[p.Page] = p.Title
		}
	}
	if len(pages) < 50 {
		t.Errorf("only %d pages in the navigation", len(pages))
	}
	for name, title := range pages {
		page, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Errorf("site/navigation.json: %v", err)
			continue
		}
		if m := regexp.MustCompile(`(?m)^# (.+)$`).FindStringSubmatch(string(page)); m == nil || plain(m[1]) != plain(title) {
			t.Errorf("docs/%s has the heading %q, site/navigation.json has %q", name, m, title)
		}
		if name != "README.md" && len(linked[name]) == 0 {
			t.Errorf("docs/README.md has no link to %s", name)
		}
		for _, link := range linked[name] {
			if link != plain(title) {
				t.Errorf("docs/README.md links to %s as %q, site/navigation.json has %q", name, link, title)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "docs/*/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := path.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)); pages[name] == "" && !strings.HasPrefix(name, "adr/") {
			t.Errorf("site/navigation.json has no entry for %s", name)
		}
	}
}

// plain is a title in lower case and without marks, on one line.
func plain(title string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(title, "`", "")), " "))
}
