// Package corefile parses the server blocks and directives of a Corefile with their positions. It uses CoreDNS's
// tokens, but rejects texts that CoreDNS only accepts by accident.
package corefile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coredns/caddy/caddyfile"
)

// File is the outline of a Corefile.
type File struct {
	Blocks []Block
	// Imports are the patterns of import lines outside of blocks.
	Imports []string
}

// Block is a server block. Snippets are not included, because they configure no server.
type Block struct {
	// Keys are the zones as written, with port and scheme if present.
	Keys []string
	// Directives are in order and include import.
	Directives []Directive
	// Line is the line of the first key, from 1.
	Line int
}

// Directive is one directive of a server block.
type Directive struct {
	Name string
	Args []string
	// Body has the words of each line between the braces, including nested braces.
	Body [][]string
	// Line is the line of the name, from 1.
	Line int
}

// errNoBraces rejects a file with a single server block without braces, because CoreDNS would treat added text as part
// of it.
var errNoBraces = errors.New("the server block has no braces: put { and } around its directives")

// Parse parses a Corefile. Errors name the line. It does not expand environment variables and imports.
func Parse(text string) (File, error) {
	p := parser{tokens: tokens(text)}
	var f File
	for p.at < len(p.tokens) {
		if p.here().Text == "import" && p.newLine() {
			args := p.line()
			if len(args) != 2 {
				return f, p.errorf(args[0], "the directive import takes exactly one argument")
			}
			f.Imports = append(f.Imports, args[1].Text)
			continue
		}
		block, snippet, err := p.block()
		if err != nil {
			return f, err
		}
		if !snippet {
			f.Blocks = append(f.Blocks, block)
		}
	}
	return f, nil
}

// String formats a directive for a Corefile.
func (d Directive) String() string {
	words := func(list []string) string {
		written := make([]string, len(list))
		for i, word := range list {
			if written[i] = word; word == "" || strings.ContainsAny(word, "\"# \t\n") {
				written[i] = `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
			}
		}
		return strings.Join(written, " ")
	}
	text := words(append([]string{d.Name}, d.Args...))
	if d.Body == nil {
		return text
	}
	text += " {"
	for _, line := range d.Body {
		text += "\n        " + words(line)
	}
	return text + "\n    }"
}

// tokens splits a text as CoreDNS does.
func tokens(text string) (all []caddyfile.Token) {
	for d := caddyfile.NewDispenser("", strings.NewReader(text)); d.Next(); {
		all = append(all, caddyfile.Token{Line: d.Line(), Text: d.Val()})
	}
	return all
}

type parser struct {
	tokens []caddyfile.Token
	at     int
}

func (p *parser) here() caddyfile.Token { return p.tokens[p.at] }

func (p *parser) errorf(t caddyfile.Token, format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{t.Line}, args...)...)
}

// newLine reports whether the next token begins a line.
func (p *parser) newLine() bool {
	if p.at == 0 {
		return true
	}
	before := p.tokens[p.at-1]
	return before.Line+strings.Count(before.Text, "\n") < p.here().Line
}

// line consumes the rest of a line.
func (p *parser) line() []caddyfile.Token {
	from := p.at
	for p.at++; p.at < len(p.tokens) && !p.newLine(); p.at++ {
	}
	return p.tokens[from:p.at]
}

func (p *parser) block() (b Block, snippet bool, err error) {
	first := p.here()
	b.Line = first.Line
	if b.Keys, err = p.keys(); err != nil {
		return b, false, err
	}
	if p.at == len(p.tokens) || p.here().Text != "{" {
		return b, false, p.errorf(first, "%w", errNoBraces)
	}
	p.at++
	if len(b.Keys) == 1 && strings.HasPrefix(b.Keys[0], "(") && strings.HasSuffix(b.Keys[0], ")") {
		return b, true, p.skip(first)
	}
	for p.at < len(p.tokens) {
		if p.here().Text == "}" {
			p.at++
			return b, false, nil
		}
		d, err := p.directive()
		if err != nil {
			return b, false, err
		}
		b.Directives = append(b.Directives, d)
	}
	return b, false, p.errorf(first, "the server block of %s has no closing brace", strings.Join(b.Keys, " "))
}

// keys consumes the keys of a block: to the end of the line, or further after a comma.
func (p *parser) keys() ([]string, error) {
	var keys []string
	first, more := p.here(), false
	for {
		key := p.here().Text
		if key == "{" {
			if more || len(keys) == 0 {
				return nil, p.errorf(p.here(), "found { instead of a zone")
			}
			return keys, nil
		}
		if key == "," {
			return nil, p.errorf(p.here(), "found a comma instead of a zone")
		}
		more = strings.HasSuffix(key, ",")
		if key != "" { // an empty quoted key
			keys = append(keys, strings.TrimSuffix(key, ","))
		}
		p.at++
		if p.at == len(p.tokens) || (!more && p.newLine()) {
			break
		}
	}
	if more || len(keys) == 0 {
		return nil, p.errorf(first, "the server block has no zone")
	}
	return keys, nil
}

// skip consumes a snippet after its opening brace.
func (p *parser) skip(first caddyfile.Token) error {
	for depth := 1; p.at < len(p.tokens); p.at++ {
		switch p.here().Text {
		case "{":
			depth++
		case "}":
			if depth--; depth == 0 {
				p.at++
				return nil
			}
		}
	}
	return p.errorf(first, "the snippet has no closing brace")
}

// directive consumes a directive to the end of its line or braces.
func (p *parser) directive() (Directive, error) {
	name := p.here()
	d := Directive{Name: name.Text, Line: name.Line}
	depth := 0
	for p.at++; p.at < len(p.tokens); p.at++ {
		t := p.here()
		if t.Text != "{" && depth == 0 && p.newLine() {
			break
		}
		switch {
		case t.Text == "{":
			depth++
		case t.Text == "}" && depth == 0:
			return d, p.errorf(t, "found } without a matching {")
		case t.Text == "}":
			depth--
		case depth == 0 && d.Body == nil:
			d.Args = append(d.Args, t.Text)
		default:
			if p.newLine() || len(d.Body) == 0 || p.tokens[p.at-1].Text == "{" {
				d.Body = append(d.Body, nil)
			}
			last := len(d.Body) - 1
			d.Body[last] = append(d.Body[last], t.Text)
		}
	}
	if depth > 0 {
		return d, p.errorf(name, "the directive %s has no closing brace", d.Name)
	}
	return d, nil
}
