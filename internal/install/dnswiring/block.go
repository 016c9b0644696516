package dnswiring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// Markers around Atoll's part of a text.
const (
	markBegin = "# BEGIN atoll: made by 'atoll dns install', removed by 'atoll dns uninstall'"
	markEnd   = "# END atoll"
	// markPrefix identifies a begin marker, whatever follows.
	markPrefix = "# BEGIN atoll"
)

// addBlock adds a marked block to a Corefile, or replaces an existing one. A text without a final line break keeps
// none, so that removeBlock can restore it.
func addBlock(text, block string) (string, error) {
	from, to, err := marked(text)
	switch {
	case err != nil:
		return "", err
	case from >= 0:
		return text[:from] + block + text[to:], nil
	case text == "" || strings.HasSuffix(text, "\n"):
		return text + block + "\n", nil
	default:
		return text + "\n" + block, nil
	}
}

// removeBlock undoes addBlock.
func removeBlock(text string) (string, error) {
	from, to, err := marked(text)
	switch {
	case err != nil || from < 0:
		return text, err
	case strings.HasPrefix(text[to:], "\n"):
		return text[:from] + text[to+1:], nil
	default:
		return strings.TrimSuffix(text[:from], "\n") + text[to:], nil
	}
}

// marked returns the range of the marked block, including markers but not the line break after it; from is -1 if there
// is none.
func marked(text string) (from, to int, err error) {
	from, to = -1, -1
	at := 0
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(word, markPrefix):
			if from >= 0 {
				return -1, -1, fmt.Errorf("the start marker %q exists twice: remove one of the two markers manually", markPrefix)
			}
			from = at
		case word == markEnd && from >= 0 && to < 0:
			to = at + len(strings.TrimRight(line, "\r\n"))
		}
		at += len(line)
	}
	if from >= 0 && to < 0 {
		return -1, -1, fmt.Errorf("the start marker %q has no matching end marker %q: remove the start marker manually", markPrefix, markEnd)
	}
	return from, to, nil
}

// renderer writes the server blocks for one group of listeners.
type renderer func(Wiring, listener) string

// plan decides on the server blocks that a DNS server needs. The server's configuration must have no part of Atoll.
func plan(s source, w Wiring, render renderer) (blocks string, warnings []string, err error) {
	file, err := s.assemble()
	if err != nil {
		return "", nil, err
	}
	roots, err := listenersOf(file, s.ports)
	if err != nil {
		return "", nil, in(s.configMap, err)
	}
	if err := distinct(file, roots); err != nil {
		return "", nil, in(s.configMap, err)
	}
	if err := s.claimed(file, w.Zones, roots); err != nil {
		return "", nil, err
	}
	if err := s.validate(file); err != nil {
		return "", nil, err
	}
	parts := make([]string, len(roots))
	for i, l := range roots {
		parts[i] = render(w, l)
	}
	return markBegin + "\n" + strings.Join(parts, "\n") + "\n" + markEnd, s.notes(file, w.Zones, roots), nil
}

// verify checks a changed configuration: CoreDNS starts with it, and it has the blocks of the configuration without
// Atoll, and Atoll's own.
func (s source) verify(without source) error {
	after, err := s.assemble()
	var before corefile.File
	if err == nil {
		before, err = without.assemble()
	}
	_, key := s.object(s.main())
	refused := func(err error) error {
		return errors.Join(in(s.configMap, fmt.Errorf("a server block cannot be added to this Corefile: check the end of the %s and the imports", key)), err)
	}
	if err != nil {
		return refused(err)
	}
	rest := after.Blocks
	for _, b := range before.Blocks {
		i := slices.IndexFunc(rest, func(other corefile.Block) bool { return sameBlock(b, other) })
		if i < 0 {
			return refused(nil)
		}
		rest = rest[i+1:]
	}
	if len(after.Blocks) <= len(before.Blocks) {
		return refused(nil)
	}
	return s.validate(after)
}

func sameBlock(a, b corefile.Block) bool {
	text := func(d corefile.Directive) string { return d.String() }
	return slices.Equal(a.Keys, b.Keys) && slices.EqualFunc(a.Directives, b.Directives, func(a, b corefile.Directive) bool { return text(a) == text(b) })
}

// coreDNSBlock returns a server block for CoreDNS. It has no cache, because atoll-dns is equally near and always
// current.
func coreDNSBlock(w Wiring, l listener) string {
	lines := append([]string{"errors"}, l.binds...)
	return block(w, l, append(lines, "forward . "+strings.Join(w.servers(), " ")))
}

// maxCacheTTL is the longest TTL of atoll-dns, that of dns-version (DNS specification, 2.2), in seconds. A shorter limit of
// the cache would shorten it. All other records have a short TTL of their own.
const maxCacheTTL = 28800

// nodeLocalBlock returns a block for NodeLocal DNSCache: with a cache, on the addresses of its other blocks, and over
// TCP as those forward to cluster DNS.
func nodeLocalBlock(w Wiring, l listener) string {
	lines := append([]string{"errors", fmt.Sprintf("cache %d", maxCacheTTL)}, l.binds...)
	return block(w, l, append(lines, "forward . "+strings.Join(w.servers(), " ")+" {", "    force_tcp", "}"))
}

func block(w Wiring, l listener, lines []string) string {
	var keys []string
	for _, zone := range w.Zones {
		for _, port := range l.ports {
			if port != "" {
				port = ":" + port
			}
			keys = append(keys, zone+port)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s {\n", strings.Join(keys, " "))
	for _, line := range lines {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return b.String() + "}"
}
