package docs

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
	"github.com/atoll-mcs/atoll/test/pages"
	"github.com/atoll-mcs/atoll/test/scenario"
)

const root = "../.."

// Every block of the documentation is valid: its commands can be run, its objects applied, its
// files parsed. Otherwise the text before the block must say "not tried here".
func TestBlocks(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c, all := read(t)
	blocks := 0
	for _, page := range all {
		for _, block := range page.Blocks {
			if err := c.block(block); err != nil {
				t.Errorf("%s: %v", block.At(), err)
			}
			blocks++
		}
	}
	if blocks < 60 {
		t.Errorf("only %d blocks in %d pages", blocks, len(all))
	}
}

// Every inline command of atoll and every make target in the text of a page exists.
func TestSpans(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c, all := read(t)
	spans := 0
	for _, page := range all {
		for _, span := range page.Spans {
			known, err := c.span(span.Text)
			if err != nil {
				t.Errorf("%s: `%s`: %v", span.At(), span.Text, err)
			}
			if known {
				spans++
			}
		}
	}
	if spans < 100 {
		t.Errorf("only %d commands in the text of %d pages", spans, len(all))
	}
}

// Every link within the repository has a target, including headings.
func TestLinks(t *testing.T) {
	_, all := read(t)
	links := 0
	for _, page := range all {
		for _, link := range page.Links {
			if err := pages.Broken(root, all, link); err != nil {
				t.Errorf("%s: %v", link.At(), err)
			}
			links++
		}
	}
	if links < 200 {
		t.Errorf("only %d links", links)
	}
	for _, wrong := range []string{"[x](nosuch.md)", "[x](dns.md#no-such-heading)", "[x](#no-such-heading)", "[x](../Makefile#x)"} {
		page, err := pages.Parse("docs/made-up.md", wrong)
		if err != nil || len(page.Links) != 1 || pages.Broken(root, append(all, page), page.Links[0]) == nil {
			t.Errorf("%s passes: %+v, %v", wrong, page.Links, err)
		}
	}
}

func read(t *testing.T) (*checker, []pages.Page) {
	t.Helper()
	c, err := newChecker(root)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return c, all
}

// block returns an error for an invalid block.
func (c *checker) block(b pages.Block) error {
	switch b.Language {
	case "", "console", "sh":
		return c.commands(b)
	case "yaml":
		if b.Untried {
			return nil
		}
		_, err := Objects(b)
		return err
	case "go":
		return parseGo(b.Text)
	case "corefile":
		_, err := corefile.Parse(b.Text)
		return err
	case "txtar":
		return c.scenario(b.Text)
	case "promql":
		return c.queries(b.Text)
	case "text", "txt", "mermaid":
		return nil // output of a program, or a diagram
	case "ini":
		if b.Untried {
			return nil
		}
	}
	return fmt.Errorf("no test knows the language %q: say before the block that it is not tried here", b.Language)
}

// commands checks a block of command lines.
func (c *checker) commands(b pages.Block) error {
	commands, err := pages.Commands(b.Text)
	if err != nil {
		return fmt.Errorf("these are no commands (%w): if they are not meant to be, say ```text", err)
	}
	if len(commands) == 0 {
		return fmt.Errorf("there is no command: if there shall be none, say ```text")
	}
	for _, command := range commands {
		known, err := c.check(command)
		if err == nil {
			err = namesCluster(command)
		}
		if err != nil && !(b.Untried && !ours(command)) {
			return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
		if !known && !b.Untried {
			return fmt.Errorf("no test knows the program %q: use ```text for output, or say before the block that it is not tried here", command[0])
		}
	}
	return nil
}

// namesCluster returns an error if a command does not say for which cluster it is. The current context is not necessarily the one
// that the page means.
func namesCluster(command pages.Command) error {
	program, args := programOf(command)
	named := func(arg string) bool {
		return strings.HasPrefix(arg, "--context") || arg == "--all" || arg == "--help" || arg == "-h"
	}
	switch {
	case program != "atoll" && program != "kubectl", len(args) == 0, slices.ContainsFunc(args, named):
		return nil
	case program == "atoll" && slices.Contains([]string{"lab", "render", "version", "completion"}, args[0]):
		return nil
	case program == "atoll" && slices.Contains([]string{"bench", "check", "gather", "status", "upgrade", "verify"}, args[0]) && slices.ContainsFunc(args[1:], isContext):
		return nil
	}
	return errors.New("--context is missing: say for which cluster the command is")
}

// isContext reports whether an argument is a context of the pages' clusters.
func isContext(arg string) bool {
	return arg == "broker" || regexp.MustCompile(`^(kind-)?c\d$`).MatchString(arg)
}

// ours reports whether a command belongs to this project, so that the test checks it even in
// untried blocks.
func ours(command pages.Command) bool {
	return slices.Contains([]string{"atoll", "bin/atoll", "make"}, command[0])
}

// placeholder matches a word that replaces other words, or marks optional words.
var placeholder = regexp.MustCompile(`[…\[]`)

// span checks inline code if it is a command of this project.
func (c *checker) span(text string) (known bool, err error) {
	words := strings.Fields(text)
	if i := slices.IndexFunc(words, placeholder.MatchString); i >= 0 {
		words = words[:i]
	}
	if len(words) < 2 {
		return false, nil
	}
	switch strings.TrimPrefix(words[0], "bin/") {
	case "atoll":
		commands, err := pages.Commands(strings.Join(words, " "))
		if err != nil || len(commands) == 0 {
			return true, err
		}
		return true, atoll(commands[0].WithoutRedirections()[1:], false)
	case "make":
		return true, c.make(words[1:2])
	}
	return false, nil
}

// scenario checks a script, which can apply the files of all scripts.
func (c *checker) scenario(text string) error {
	folder, err := os.MkdirTemp("", "atoll-docs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	manifests, err := filepath.Abs(filepath.Join(c.root, "test/scenario/testdata/manifests"))
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "example.txtar")
	if err := errors.Join(os.Symlink(manifests, filepath.Join(folder, "manifests")), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		return err
	}
	_, err = scenario.ParseFile(file)
	return err
}

// parseGo parses a file, or statements.
func parseGo(text string) error {
	if !strings.HasPrefix(text, "package ") {
		text = "package p\nfunc _() {\n" + text + "\n}"
	}
	_, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	return err
}

// queries checks that the page about Atoll's metrics, or that about CoreDNS's, documents the
// metrics of a query.
func (c *checker) queries(text string) error {
	page, err := os.ReadFile(filepath.Join(c.root, "docs/reference/metrics.md"))
	if err != nil {
		return err
	}
	for _, name := range regexp.MustCompile(`\batoll_[a-z_]+`).FindAllString(text, -1) {
		if name = strings.TrimSuffix(name, "_bucket"); !strings.Contains(string(page), "| `"+name) {
			return fmt.Errorf("there is no metric %s", name)
		}
	}
	return nil
}

// The checker finds invalid blocks.
func TestWrongBlocks(t *testing.T) {
	c, _ := read(t)
	for _, tt := range []struct{ page, want string }{
		{"```\natoll joyn x\n```", "no command joyn"},
		{"```\natoll get exports -A\n```", "--context is missing"},
		{"```\natoll check --pre\n```", "--context is missing"},
		{"```\n$ kubectl get serviceexports -n shop\nNAME\n```", "--context is missing"},
		{"```\natoll join c1.join --contxt c1\n```", "unknown flag: --contxt"},
		{"```\natoll join\n```", "arg"},
		{"```\n$ atoll get cluster --wide\nNAME\n```", "unknown flag: --wide"},
		{"```\natoll dns install --zone 'a b'\n```", "not a domain name"},
		{"```\natoll broker token create c1 --context broker | atoll rendr secret -\n```", "no command rendr"},
		{"```\nexport PATH=$(atoll lab programms)\n```", "no command programms"},
		{"```\nmake demmo\n```", "no target demmo"},
		{"```\nmake bench BENSH=1\n```", "no variable BENSH"},
		{"```\nkubectl get serviceimprots\n```", `unknown resource "serviceimprots"`},
		{"```\nkubectl aply -f x\n```", "unknown here"},
		{"```\nkubectl apply --file x\n```", "unknown here"},
		{"```\nhelm install atoll charts/atoll-agnt\n```", "no such file"},
		{"```\ngo test ./test/scenarios\n```", "no such file"},
		{"```\nterraform apply\n```", `knows the program "terraform"`},
		{"```\na drawing ──> of something\n```", "knows the program"},
		{"```yaml\napiVersion: v1\nkind: ConfigMap\ndatas: {}\n```", `unknown field "datas"`},
		{"```yaml\napiVersion: example.org/v1\nkind: Thing\n```", "no kind"},
		{"```yaml\nsomething: else\n```", "unknown part"},
		{"```corefile\na.example {\n```", "no closing brace"},
		{"```go\nx := \n```", "expected"},
		{"```promql\nrate(atoll_no_such_total[5m])\n```", "no metric atoll_no_such_total"},
		{"```rust\n```", "language"},
		{"```ini\n[Service]\n```", "language"},
	} {
		page, err := pages.Parse("page.md", tt.page)
		if err != nil || len(page.Blocks) != 1 {
			t.Fatalf("%q: %d blocks, %v", tt.page, len(page.Blocks), err)
		}
		if err := c.block(page.Blocks[0]); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.page, err, tt.want)
		}
	}
	page, err := pages.Parse("page.md", "Of a cloud (this is not\ntried here: it costs money).\n\n```\nterraform apply\n```\n\nMore.\n\n```\nterraform apply\natoll joyn\n```\n")
	if err != nil || len(page.Blocks) != 2 || !page.Blocks[0].Untried || page.Blocks[1].Untried || c.block(page.Blocks[0]) != nil {
		t.Errorf("the mark of an untried block must apply to the next block only: %+v, %v", page.Blocks, err)
	}
	page.Blocks[1].Untried = true
	if c.block(page.Blocks[1]) == nil {
		t.Error("the checker accepted an unknown atoll command in an untried block")
	}
	for _, text := range []string{"atoll joyn", "atoll broker tokn create CLUSTER", "atoll join --contxt c1", "make demmo"} {
		if _, err := c.span(text); err == nil {
			t.Errorf("`%s` passes", text)
		}
	}
}
