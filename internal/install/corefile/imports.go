package corefile

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// Source is a file.
type Source struct {
	// Name is an absolute path.
	Name, Text string
}

// maxImports is the number of import lines that Assemble replaces before it assumes a cycle.
const maxImports = 1000

var (
	errImportArguments = errors.New("the directive import takes exactly one argument")
	errTooManyImports  = errors.New("the import lines form a cycle")
)

// Assemble parses a Corefile as CoreDNS reads it: snippets and files replace the import lines. read returns the files
// whose paths match an absolute pattern, in order, or false if nobody knows which files there are. Assemble does not
// expand environment variables.
func Assemble(main Source, read func(pattern string) ([]Source, bool)) (File, error) {
	p := parser{tokens: tokens(main), imports: &imports{read: read, snippets: map[string][]token{}}}
	return p.file()
}

// imports is what import lines can refer to.
type imports struct {
	read     func(pattern string) ([]Source, bool)
	snippets map[string][]token
	count    int
}

func (i *imports) isSnippet(name string) bool {
	_, ok := i.snippets[name]
	return ok
}

// define adds a snippet.
func (i *imports) define(at token, name string, body []token) error {
	if i == nil {
		return nil
	}
	if i.isSnippet(name) {
		return &SyntaxError{File: at.file, Line: at.line, Err: errors.New("the snippet " + name + " is defined twice")}
	}
	for at := 0; at+1 < len(body); at++ {
		if body[at].text == "import" && body[at+1].text == name {
			return &SyntaxError{File: body[at].file, Line: body[at].line, Err: errTooManyImports}
		}
	}
	i.snippets[name] = slices.Clone(body)
	return nil
}

// expand replaces an import line by its contents.
func (p *parser) expand() error {
	at := p.at
	line := p.line()
	if p.at = at; len(line) != 2 || line[1].text == "" {
		return p.errorf(line[0], "%w", errImportArguments)
	}
	if p.imports.count++; p.imports.count > maxImports {
		return p.errorf(line[0], "%w", errTooManyImports)
	}
	contents, ok := p.imports.snippets[line[1].text]
	if !ok {
		var err error
		if contents, err = p.open(line[1]); err != nil {
			return err
		}
	}
	p.tokens = slices.Concat(p.tokens[:at], contents, p.tokens[at+2:])
	return nil
}

// open returns the contents of the files that match a pattern.
func (p *parser) open(pattern token) (contents []token, err error) {
	name := absolute(pattern.text, pattern.file)
	if strings.Count(name, "*") > 1 || strings.Count(name, "?") > 1 || strings.Contains(name, "[") && strings.Contains(name, "]") {
		return nil, p.errorf(pattern, "the pattern %s has more than one wildcard", pattern.text)
	}
	var files []Source
	known := false
	if !HasVariable(name) {
		files, known = p.imports.read(name)
	}
	switch {
	case !known:
		if !slices.Contains(p.result.Unread, pattern.text) {
			p.result.Unread = append(p.result.Unread, pattern.text)
		}
	case len(files) == 0 && !strings.ContainsAny(name, "*?"):
		return nil, p.errorf(pattern, "the file %s to import does not exist", pattern.text)
	}
	for _, f := range files {
		all := tokens(f)
		if err := balanced(all); err != nil {
			return nil, err
		}
		contents = append(contents, all...)
	}
	return contents, nil
}

// balanced returns an error if a file ends in a block that it begins, or ends one that it does not begin. The mistake would
// otherwise appear in the file that imports it.
func balanced(file []token) error {
	var open []token
	for _, t := range file {
		switch {
		case t.text == "{":
			open = append(open, t)
		case t.text == "}" && len(open) == 0:
			return &SyntaxError{File: t.file, Line: t.line, Err: errors.New("found } without a matching {")}
		case t.text == "}":
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		return &SyntaxError{File: last.file, Line: last.line, Err: errors.New("found { without a matching }")}
	}
	return nil
}

// absolute returns the path of a pattern in a file.
func absolute(pattern, file string) string {
	if path.IsAbs(pattern) {
		return pattern
	}
	return path.Join(path.Dir(file), pattern)
}

// HasVariable reports whether CoreDNS replaces a part of a word from its environment.
func HasVariable(word string) bool {
	return strings.Contains(word, "{$") || strings.Contains(word, "{%")
}
