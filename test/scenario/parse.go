package scenario

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// A word is an argument as written, in pieces. $NAME is replaced in unquoted pieces only.
type word []piece

type piece struct {
	text   string
	quoted bool
}

// String joins the pieces as they were written, without quotes.
func (w word) String() string {
	var b strings.Builder
	for _, p := range w {
		b.WriteString(p.text)
	}
	return b.String()
}

// is reports whether the word is this unquoted text.
func (w word) is(text string) bool {
	return len(w) == 1 && !w[0].quoted && w[0].text == text
}

// expand replaces variables. In a pattern, values are matched literally.
func (w word) expand(env map[string]string, pattern bool) (string, error) {
	var b strings.Builder
	var missing error
	for _, p := range w {
		if p.quoted {
			b.WriteString(p.text)
			continue
		}
		b.WriteString(os.Expand(p.text, func(name string) string {
			value, ok := env[name]
			if !ok {
				missing = usageErrorf("$%s is not set", name)
			}
			if pattern {
				value = regexp.QuoteMeta(value)
			}
			return value
		}))
	}
	return b.String(), missing
}

// piecePattern matches a quoted piece, an unquoted piece, or an unterminated quote.
var piecePattern = regexp.MustCompile(`'((?:[^']|'')*)'|[^ \t\r']+|'`)

// split splits a line into words. Single quotes preserve spaces, $ and #; a doubled quote
// inside is a quote. # at the start of a word begins a comment.
func split(text string) (words []word, _ error) {
	end := -1 // end of the previous piece
	for _, at := range piecePattern.FindAllStringSubmatchIndex(text, -1) {
		p := piece{text: text[at[0]:at[1]]}
		begins := at[0] != end
		switch {
		case at[2] >= 0:
			p = piece{text: strings.ReplaceAll(text[at[2]:at[3]], "''", "'"), quoted: true}
		case p.text == "'":
			return nil, errors.New("quote without an end")
		case begins && p.text[0] == '#':
			return words, nil
		}
		if begins {
			words = append(words, nil)
		}
		words[len(words)-1] = append(words[len(words)-1], p)
		end = at[1]
	}
	return words, nil
}

// parseLine parses a line of the script and adds it to s.lines.
func (s *Script) parseLine(number int, text string) error {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") {
		if title := strings.TrimSpace(strings.TrimLeft(text, "#")); title != "" && !headerPattern.MatchString(text) {
			s.lines = append(s.lines, line{number: number, text: text, title: title})
		}
		return nil
	}
	words, err := split(text)
	if err != nil || len(words) == 0 {
		return err
	}
	l := line{number: number, text: text}
	if l.repeat, words, err = parseRepeat(words); err != nil {
		return err
	}
	for _, part := range splitChain(words) {
		c, err := s.parseCall(part)
		if err != nil {
			return err
		}
		l.calls = append(l.calls, c)
	}
	s.lines = append(s.lines, l)
	return nil
}

// splitChain splits the words at each unquoted "then".
func splitChain(words []word) [][]word {
	chain := [][]word{nil}
	for _, w := range words {
		if w.is("then") {
			chain = append(chain, nil)
			continue
		}
		last := len(chain) - 1
		chain[last] = append(chain[last], w)
	}
	return chain
}

// parseRepeat takes "eventually [TIMEOUT]" or "steadily DURATION" off the
// front of the words.
func parseRepeat(words []word) (*repeat, []word, error) {
	switch {
	case words[0].is("eventually"):
		limit := defaultTimeout
		words = words[1:]
		if len(words) > 0 {
			if given, err := time.ParseDuration(words[0].String()); err == nil {
				limit, words = given, words[1:]
			}
		}
		return &repeat{until: true, limit: limit}, words, nil
	case words[0].is("steadily"):
		if len(words) < 2 {
			return nil, nil, errors.New("steadily: how long? (steadily DURATION VERB …)")
		}
		limit, err := time.ParseDuration(words[1].String())
		if err != nil {
			return nil, nil, fmt.Errorf("steadily: %w", err)
		}
		return &repeat{limit: limit}, words[2:], nil
	default:
		return nil, words, nil
	}
}

// parseCall finds the verb and checks its arguments as far as they are known.
func (s *Script) parseCall(words []word) (call, error) {
	var c call
	if len(words) > 0 && words[0].is("!") {
		c.negate, words = true, words[1:]
	}
	if len(words) == 0 {
		return c, errors.New("a verb is missing")
	}
	name := words[0].String()
	verb, ok := verbs()[name]
	if !ok {
		return c, fmt.Errorf("unknown verb %q", name)
	}
	c.verb, c.words = &verb, words[1:]
	if len(c.words) < verb.Min || (verb.Max >= 0 && len(c.words) > verb.Max) {
		return c, fmt.Errorf("usage: %s %s", verb.Name, verb.Args)
	}
	if c.negate && verb.Always {
		return c, fmt.Errorf("%s cannot be negated", verb.Name)
	}
	args := make([]string, len(c.words))
	for i, w := range c.words {
		var err error
		if args[i], err = w.expand(nil, false); err != nil {
			args[i] = unknown
		}
	}
	if verb.Check != nil {
		if err := verb.Check(s, c.negate, args); err != nil {
			return c, fmt.Errorf("%s: %w", verb.Name, err)
		}
	}
	return c, nil
}

// unknown replaces an argument with a variable while a script is checked.
const unknown = "\x00"
