package dnswiring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// The lines around what Atoll writes into somebody else's text.
const (
	markBegin = "# BEGIN atoll: made by 'atoll dns install', removed by 'atoll dns uninstall'"
	markEnd   = "# END atoll"
	// markPrefix is how a beginning is known, whatever else the line says.
	markPrefix = "# BEGIN atoll"
)

// addBlock puts a marked block into a Corefile: where there is one, else at the end. A text
// that does not end in a line break does not afterwards either, by which removeBlock knows
// what it was.
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

// marked finds the marked part of a text, marks included, without the line break after it;
// from is -1 where there is none.
func marked(text string) (from, to int, err error) {
	from, to = -1, -1
	at := 0
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(word, markPrefix):
			if from >= 0 {
				return -1, -1, fmt.Errorf("%q exists twice; remove one of the two by hand", markPrefix)
			}
			from = at
		case word == markEnd && from >= 0 && to < 0:
			to = at + len(strings.TrimRight(line, "\r\n"))
		}
		at += len(line)
	}
	if from >= 0 && to < 0 {
		return -1, -1, fmt.Errorf("%q has no line %q after it; remove it by hand", markPrefix, markEnd)
	}
	return from, to, nil
}

// wireCorefile puts a server block for the zones into a Corefile, made by render, which
// gets the block that serves what no other does.
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
	// A quote without end, say, could have swallowed what is new.
	after, err := corefile.Parse(wired)
	if err != nil || len(after.Blocks) != len(file.Blocks)+1 {
		return "", errors.Join(errors.New("a server block cannot be added to this Corefile: look at its end"), err)
	}
	return wired, nil
}

// rootBlock finds the block that answers what no other does, or else one that answers for
// the cluster.
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
	return corefile.Block{}, errors.New("no server block of the Corefile is for the root zone or has the plugin kubernetes; is this the cluster's DNS?")
}

// portOf is the port on which a block answers DNS, as written.
func portOf(b corefile.Block) string {
	for _, key := range b.Keys {
		if a := corefile.ParseKey(key); a.Transport == "dns" {
			return a.Port
		}
	}
	return ""
}

// coreDNSBlock is the marked server block of a CoreDNS. It caches nothing: atoll-dns is as
// near as the cache would be, and its answers stay current.
func coreDNSBlock(w Wiring, root corefile.Block) string {
	lines := append([]string{"errors"}, binds(root)...)
	return block(w, portOf(root), append(lines, "forward . "+strings.Join(w.servers(), " ")))
}

// nodeLocalBlock is that of NodeLocal DNSCache: with a cache, which is what it is for, on the
// addresses that its other blocks listen on, and by TCP as they ask the cluster's DNS.
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

// binds are the directives that say on which addresses a block listens. Two blocks with the
// same port have to listen on the same ones.
func binds(b corefile.Block) []string {
	var lines []string
	for _, d := range b.Directives {
		if d.Name == "bind" {
			lines = append(lines, d.String())
		}
	}
	return lines
}
