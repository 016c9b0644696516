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

// wireCorefile adds a server block for the zones to a Corefile. render creates the block from the root block.
func wireCorefile(text string, w Wiring, render func(Wiring, corefile.Block) string) (string, error) {
	rest, err := removeBlock(text)
	if err != nil {
		return "", err
	}
	file, err := corefile.Parse(rest)
	if err != nil {
		return "", err
	}
	root, err := rootBlock(file)
	if err != nil {
		return "", err
	}
	if err := claimed(file, w.Zones, portOf(root)); err != nil {
		return "", claimedByLighthouse(err, rest)
	}
	wired, err := addBlock(text, render(w, root))
	if err != nil {
		return "", err
	}
	// Reject the result if, for example, an unclosed quote swallows the new block.
	after, err := corefile.Parse(wired)
	if err != nil || len(after.Blocks) != len(file.Blocks)+1 {
		return "", errors.Join(errors.New("a server block cannot be added to this Corefile: check the end of the Corefile"), err)
	}
	return wired, nil
}

// rootBlock returns the block for the root zone, or else one with the plugin kubernetes.
func rootBlock(file corefile.File) (corefile.Block, error) {
	serves := func(b corefile.Block) bool {
		return slices.ContainsFunc(b.Keys, func(key string) bool {
			a := corefile.ParseKey(key)
			return a.Transport == "dns" && slices.Contains(a.Zones, "")
		})
	}
	answers := func(b corefile.Block) bool {
		return slices.ContainsFunc(b.Directives, func(d corefile.Directive) bool { return d.Name == "kubernetes" })
	}
	for _, is := range []func(corefile.Block) bool{serves, answers} {
		if i := slices.IndexFunc(file.Blocks, is); i >= 0 {
			return file.Blocks[i], nil
		}
	}
	return corefile.Block{}, errors.New("no server block of the Corefile serves the root zone or uses the plugin kubernetes: check whether this Corefile belongs to the cluster's DNS")
}

// portOf returns a block's DNS port, as written.
func portOf(b corefile.Block) string {
	for _, key := range b.Keys {
		if a := corefile.ParseKey(key); a.Transport == "dns" {
			return a.Port
		}
	}
	return ""
}

// coreDNSBlock returns the marked server block for CoreDNS. It has no cache, because atoll-dns is equally near and
// always current.
func coreDNSBlock(w Wiring, root corefile.Block) string {
	lines := append([]string{"errors"}, binds(root)...)
	return block(w, portOf(root), append(lines, "forward . "+strings.Join(w.servers(), " ")))
}

// nodeLocalBlock returns the block for NodeLocal DNSCache: with a cache, on the addresses of its other blocks, and
// over TCP as those forward to cluster DNS.
func nodeLocalBlock(w Wiring, root corefile.Block) string {
	lines := append([]string{"errors", "cache 30"}, binds(root)...)
	return block(w, portOf(root), append(lines, "forward . "+strings.Join(w.servers(), " ")+" {", "    force_tcp", "}"))
}

func block(w Wiring, port string, lines []string) string {
	keys := slices.Clone(w.Zones)
	for i := range keys {
		if port != "" {
			keys[i] += ":" + port
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s {\n", markBegin, strings.Join(keys, " "))
	for _, line := range lines {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	fmt.Fprintf(&b, "}\n%s", markEnd)
	return b.String()
}

// binds returns a block's bind directives. Blocks with the same port must listen on the same addresses.
func binds(b corefile.Block) []string {
	var lines []string
	for _, d := range b.Directives {
		if d.Name == "bind" {
			lines = append(lines, d.String())
		}
	}
	return lines
}
