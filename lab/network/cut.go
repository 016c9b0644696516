package network

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// errNoNft means that nft is missing, which cuts and kube-proxy need.
var errNoNft = errors.New("the program nft is missing: install the package nftables")

// CheckNft returns an error with the fix if nft is missing.
func CheckNft() error {
	if _, err := exec.LookPath("nft"); err != nil {
		return errNoNft
	}
	return nil
}

// Cut drops everything that arrives in the namespace from the given ranges, including established connections, until
// Heal. Call it at both ends. Packets are lost at the receiver, as on a broken line, so the sender gets no error. A cut
// replaces an earlier one of the same name.
func (n Namespace) Cut(name string, from []netip.Prefix) error {
	if err := n.nft(cutScript(name, from)); err != nil {
		return fmt.Errorf("cutting %s off from %s: %w", n, name, err)
	}
	return nil
}

// Heal removes a cut, if there is one.
func (n Namespace) Heal(name string) error {
	t := cutTable(name)
	if err := n.nft(fmt.Sprintf("table inet %s\ndelete table inet %s\n", t, t)); err != nil {
		return fmt.Errorf("restoring the connection between %s and %s: %w", n, name, err)
	}
	return nil
}

func cutTable(name string) string {
	return "atoll_lab_cut_" + strings.ReplaceAll(name, "-", "_")
}

// cutScript creates a table that drops packets before connection tracking and kube-proxy, where replies still have the
// remote address. Naming a table creates it, so the deletion before never fails.
func cutScript(name string, from []netip.Prefix) string {
	t := cutTable(name)
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s\ndelete table inet %s\ntable inet %s {\n", t, t, t)
	b.WriteString("  chain arriving {\n    type filter hook prerouting priority -400; policy accept;\n")
	for _, p := range from {
		family := "ip"
		if p.Addr().Is6() {
			family = "ip6"
		}
		fmt.Fprintf(&b, "    %s saddr %s drop\n", family, p)
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

func (n Namespace) nft(script string) error {
	if err := CheckNft(); err != nil {
		return err
	}
	return n.Do(func() error {
		cmd := exec.Command("nft", "-f", "-")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("running nft: %w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	})
}
