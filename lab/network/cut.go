package network

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// errNoNft says that the program nft, which cuts and kube-proxy need, is not
// there.
var errNoNft = errors.New("the program nft is missing: install the package nftables")

// CheckNft returns an error that says what to install where the program nft is
// missing.
func CheckNft() error {
	if _, err := exec.LookPath("nft"); err != nil {
		return errNoNft
	}
	return nil
}

// Cut drops everything that arrives in the namespace from the given ranges,
// established connections included, until Heal. Both ends of a way need it: a
// packet is lost where it arrives, as on a broken line, so that the sender gets
// no error. Cuts are told apart by name; one of the same name is replaced.
func (n Namespace) Cut(name string, from []netip.Prefix) error {
	if err := n.nft(cutScript(name, from)); err != nil {
		return fmt.Errorf("cutting %s off from %s: %w", n, name, err)
	}
	return nil
}

// Heal removes a cut. It is no error when there is none.
func (n Namespace) Heal(name string) error {
	t := cutTable(name)
	if err := n.nft(fmt.Sprintf("table inet %s\ndelete table inet %s\n", t, t)); err != nil {
		return fmt.Errorf("healing the cut between %s and %s: %w", n, name, err)
	}
	return nil
}

func cutTable(name string) string {
	return "atoll_lab_cut_" + strings.ReplaceAll(name, "-", "_")
}

// cutScript makes a table that drops before connection tracking and kube-proxy
// see the packet: replies still bear the remote address there. Naming a table
// makes it where it is absent, so that it can be deleted in any case.
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
