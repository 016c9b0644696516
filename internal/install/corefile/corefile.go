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
	// Imports are the patterns of import lines outside of blocks. Assemble makes them absolute.
	Imports []string
	// Unread are the patterns whose files Assemble could not read.
	Unread []string
}

// Block is a server block. Snippets are not included, because they configure no server.
type Block struct {
	// Keys are the zones as written, with port and scheme if present.
	Keys []string
	// Directives are in order and include import.
	Directives []Directive
	// File is the name of the file with the first key, Line its line, from 1.
	File string
	Line int
}

// Directive is one directive of a server block.
type Directive struct {
	Name string
	Args []string
	// Body has the words of each line between the braces, including nested braces.
	Body [][]string
	// EndsInline means that the closing brace is behind other words of a line, where plugins take it for an argument.
	EndsInline bool
	// File is the name of the file with the directive, Line its line, from 1.
	File string
	Line int
}

// errNoBraces rejects a file with a single server block without braces, because CoreDNS would treat added text as part
// of it.
var errNoBraces = errors.New("the server block has no braces: put { and } around its directives")

// Parse parses a Corefile. Errors name the line. It does not expand environment variables and imports.
func Parse(text string) (File, error) {
	p := parser{tokens: tokens(Source{Text: text})}
	return p.file()
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
func tokens(of Source) (all []token) {
	for d := caddyfile.NewDispenser("", strings.NewReader(of.Text)); d.Next(); {
		all = append(all, token{file: of.Name, line: d.Line(), text: d.Val()})
	}
	return all
}

type token struct {
	file string
	line int
	text string
}

// SyntaxError is a mistake in a Corefile.
type SyntaxError struct {
	// File is the name of the file with the mistake.
	File string
	Line int
	Err  error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *SyntaxError) Unwrap() error { return e.Err }

type parser struct {
	tokens []token
	at     int
	// imports replaces import lines, if set.
	imports *imports
	result  File
}

func (p *parser) here() token { return p.tokens[p.at] }

func (p *parser) atEnd() bool { return p.at >= len(p.tokens) }

func (p *parser) errorf(t token, format string, args ...any) error {
	return &SyntaxError{File: t.file, Line: t.line, Err: fmt.Errorf(format, args...)}
}

// newLine reports whether the next token begins a line.
func (p *parser) newLine() bool {
	if p.at == 0 {
		return true
	}
	before, here := p.tokens[p.at-1], p.here()
	return before.file != here.file || before.line+strings.Count(before.text, "\n") < here.line
}

// line consumes the rest of a line.
func (p *parser) line() []token {
	from := p.at
	for p.at++; p.at < len(p.tokens) && !p.newLine(); p.at++ {
	}
	return p.tokens[from:p.at]
}

func (p *parser) file() (File, error) {
	for !p.atEnd() {
		if p.here().text == "import" && p.newLine() {
			if err := p.importOutside(); err != nil {
				return p.result, err
			}
			continue
		}
		block, snippet, err := p.block()
		if err != nil {
			return p.result, err
		}
		if !snippet {
			p.result.Blocks = append(p.result.Blocks, block)
		}
	}
	return p.result, nil
}

// importOutside consumes an import line outside of blocks.
func (p *parser) importOutside() error {
	pattern := "" // for the list of imports, if the line is correct
	if at := p.at + 1; at < len(p.tokens) {
		pattern = p.tokens[at].text
	}
	if p.imports == nil {
		if args := p.line(); len(args) != 2 {
			return p.errorf(args[0], "%w", errImportArguments)
		}
	} else if !p.imports.isSnippet(pattern) {
		pattern = absolute(pattern, p.here().file)
		if err := p.expand(); err != nil {
			return err
		}
	} else {
		return p.expand()
	}
	p.result.Imports = append(p.result.Imports, pattern)
	return nil
}

func (p *parser) block() (b Block, snippet bool, err error) {
	first := p.here()
	b.File, b.Line = first.file, first.line
	if b.Keys, err = p.keys(); err != nil {
		return b, false, err
	}
	if p.atEnd() || p.here().text != "{" {
		return b, false, p.errorf(first, "%w", errNoBraces)
	}
	p.at++
	if len(b.Keys) == 1 && strings.HasPrefix(b.Keys[0], "(") && strings.HasSuffix(b.Keys[0], ")") {
		from := p.at
		if err := p.skip(first); err != nil {
			return b, true, err
		}
		return b, true, p.imports.define(first, strings.TrimSuffix(b.Keys[0][1:], ")"), p.tokens[from:p.at-1])
	}
	for !p.atEnd() {
		if p.here().text == "}" {
			p.at++
			return b, false, nil
		}
		if p.imports != nil && p.here().text == "import" {
			if err := p.expand(); err != nil {
				return b, false, err
			}
			continue
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
		key := p.here().text
		if key == "{" {
			if more || len(keys) == 0 {
				return nil, p.errorf(p.here(), "found { instead of a zone")
			}
			return keys, nil
		}
		if key == "import" && p.newLine() && len(keys) > 0 {
			return nil, p.errorf(p.here(), "found import instead of a zone")
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
func (p *parser) skip(first token) error {
	for depth := 1; p.at < len(p.tokens); p.at++ {
		switch p.here().text {
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
	d := Directive{Name: name.text, File: name.file, Line: name.line}
	depth := 0
	for p.at++; p.at < len(p.tokens); p.at++ {
		t := p.here()
		if t.text != "{" && depth == 0 && p.newLine() {
			break
		}
		if p.imports != nil && t.text == "import" && p.newLine() {
			if err := p.expand(); err != nil {
				return d, err
			}
			p.at--
			continue
		}
		switch {
		case t.text == "{":
			depth++
		case t.text == "}" && depth == 0:
			return d, p.errorf(t, "found } without a matching {")
		case t.text == "}":
			depth--
			d.EndsInline = d.EndsInline || !p.otherLine() && p.tokens[p.at-1].text != "{"
		case depth == 0 && d.Body == nil:
			d.Args = append(d.Args, t.text)
		default:
			if p.otherLine() || len(d.Body) == 0 || p.tokens[p.at-1].text == "{" {
				d.Body = append(d.Body, nil)
			}
			last := len(d.Body) - 1
			d.Body[last] = append(d.Body[last], t.text)
		}
	}
	if depth > 0 {
		return d, p.errorf(name, "the directive %s has no closing brace", d.Name)
	}
	return d, nil
}

// otherLine reports whether the next token is on another line than the one before. An imported snippet continues on an
// earlier line.
func (p *parser) otherLine() bool {
	return p.newLine() || p.tokens[p.at-1].line > p.here().line
}
