package pages

import (
	"errors"
	"fmt"
	"strings"
)

// A Command is a program with its arguments, as in a shell.
type Command []string

// Commands returns all commands in a shell script or in a transcript, including those in
// substitutions.
func Commands(text string) ([]Command, error) {
	return (&shell{rest: []rune(Script(text))}).script(0)
}

// Script returns the shell script of a block. In a transcript with prompts, only lines with a
// prompt are commands.
func Script(text string) string {
	if !strings.HasPrefix(text, "$ ") {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			b.WriteString(command)
		}
	}
	return b.String()
}

// shell parses the subset of the shell language that the documentation uses.
type shell struct{ rest []rune }

func (s *shell) peek() rune {
	if len(s.rest) == 0 {
		return 0
	}
	return s.rest[0]
}

func (s *shell) next() rune {
	r := s.peek()
	if len(s.rest) > 0 {
		s.rest = s.rest[1:]
	}
	return r
}

// script parses commands up to end; 0 is the end of the text.
func (s *shell) script(end rune) (all []Command, err error) {
	var current Command
	finish := func() {
		for len(current) > 1 && isAssignment(current[0]) {
			current = current[1:]
		}
		if len(current) > 0 {
			all = append(all, current)
		}
		current = nil
	}
	for {
		switch r := s.peek(); {
		case r == end:
			s.next()
			finish()
			return all, nil
		case r == 0:
			return nil, errors.New("unterminated quote or substitution")
		case r == ' ' || r == '\t':
			s.next()
		case r == '\n' || r == ';' || r == '|' || r == '&':
			s.next()
			finish()
		case r == '#':
			for s.peek() != '\n' && s.peek() != 0 {
				s.next()
			}
		default:
			word, within, err := s.word(end)
			if err != nil {
				return nil, err
			}
			all = append(all, within...)
			current = append(current, word)
		}
	}
}

// isAssignment reports whether a word sets a variable for the command after it.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name == strings.ToUpper(name)
}

// word parses a word and the commands in its substitutions.
func (s *shell) word(end rune) (word string, within []Command, err error) {
	var b strings.Builder
	quote := rune(0)
	for {
		r := s.peek()
		switch {
		case r == 0 && quote != 0:
			return "", nil, fmt.Errorf("a quote %c has no end", quote)
		case r == 0 || quote == 0 && (r == end || strings.ContainsRune(" \t\n;|&", r)):
			return b.String(), within, nil
		case quote == 0 && (r == '\'' || r == '"'):
			quote = s.next()
		case r == quote:
			quote = 0
			s.next()
		case quote != '\'' && r == '\\':
			s.next()
			if c := s.next(); c != '\n' {
				b.WriteRune(c)
			} else if b.Len() == 0 {
				return s.afterBreak(end)
			}
		case quote != '\'' && (r == '$' || r == '<') && len(s.rest) > 1 && s.rest[1] == '(':
			s.next()
			s.next()
			commands, err := s.script(')')
			if err != nil {
				return "", nil, err
			}
			within = append(within, commands...)
			b.WriteString("…")
		default:
			b.WriteRune(s.next())
		}
	}
}

// afterBreak continues after an escaped line break.
func (s *shell) afterBreak(end rune) (string, []Command, error) {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.next()
	}
	return s.word(end)
}

// WithoutRedirections returns a command without redirections of its output.
func (c Command) WithoutRedirections() Command {
	var kept Command
	for i := 0; i < len(c); i++ {
		switch word := c[i]; {
		case word == ">" || word == "<" || word == "2>":
			i++
		case strings.HasPrefix(word, ">") || strings.HasPrefix(word, "2>"):
		default:
			kept = append(kept, word)
		}
	}
	return kept
}
