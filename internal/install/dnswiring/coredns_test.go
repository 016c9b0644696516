package dnswiring

import (
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/caddy"

	"github.com/atoll-mcs/atoll/plugin/coredns"
)

var errRegistered = errors.New("CoreDNS has registered all server blocks")

// CoreDNS checks the server blocks after the last directive and before it listens. The test ends there.
func init() {
	caddy.RegisterParsingCallback("dns", "whoami", func(c caddy.Context) error {
		if _, err := c.MakeServers(); err != nil {
			return err
		}
		return errRegistered
	})
}

var kubernetesLine = regexp.MustCompile(`(?m)^ *kubernetes .*$`)

// starts returns the error of CoreDNS itself for a Corefile, with another plugin in place of kubernetes.
func starts(t *testing.T, text string) error {
	t.Helper()
	server, err := coredns.Start(kubernetesLine.ReplaceAllString(text, "whoami"))
	if err == nil {
		t.Fatalf("CoreDNS listens: %v", errors.Join(errors.New(text), coredns.Stop(server)))
	}
	if strings.Contains(err.Error(), errRegistered.Error()) {
		return nil
	}
	return err
}

// CoreDNS itself starts with the result, whatever addresses and ports interfaces and variables stand for. Otherwise Atoll
// refuses.
func TestCoreDNSStarts(t *testing.T) {
	t.Setenv("ATOLL_IP", "127.0.0.1")
	t.Setenv("ATOLL_PORT", "53")
	t.Setenv("ATOLL_OTHER", "1053")
	server := func(keys, bind string) string {
		if bind != "" {
			bind = " bind " + bind + "\n"
		}
		return keys + " {\n" + bind + " kubernetes cluster.local\n}\n"
	}
	many := wiring
	for i := range 15 {
		many.Servers = append(slices.Clone(many.Servers), netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
	}
	most := many
	most.Servers = many.Servers[:15]
	for name, test := range map[string]struct {
		text   string
		wiring Wiring
		err    string
	}{
		"an interface and its address":         {server("cluster.local:53", "lo") + server(".:53", "127.0.0.1"), wiring, "it is unknown whether port 53 of lo and port 53 of 127.0.0.1 are the same"},
		"a variable and its address":           {server(".:53", "{$ATOLL_IP}") + server("cluster.local:53", "127.0.0.1"), wiring, "it is unknown whether port 53 of {$ATOLL_IP} and port 53 of 127.0.0.1"},
		"a variable and an interface":          {server(".:53", "{$ATOLL_IP}") + server("cluster.local:53", "lo"), wiring, "it is unknown"},
		"a variable port":                      {server(".:{$ATOLL_PORT}", "") + server("cluster.local:53", ""), wiring, "it is unknown whether port {$ATOLL_PORT} and port 53"},
		"a variable port and an address":       {server(".:{$ATOLL_OTHER}", "") + server("cluster.local:53", "127.0.0.1"), wiring, "it is unknown"},
		"a variable port and the default":      {server(".:{$ATOLL_PORT}", "") + server("cluster.local", ""), wiring, "it is unknown"},
		"a common address of two blocks":       {server(".", "lo 10.0.0.1") + server("cluster.local", "10.0.0.1 127.0.0.1"), wiring, "it is unknown"},
		"another address":                      {server(".:53", "127.0.0.1") + server("cluster.local:53", "127.0.0.2"), wiring, ""},
		"the same zone at both addresses":      {server(".:53", "lo") + server(".:53", "10.0.0.10"), wiring, ""},
		"an interface and an address together": {server(".:53", "lo 10.0.0.10"), wiring, ""},
		"a variable alone":                     {server(".:{$ATOLL_PORT}", "{$ATOLL_IP}"), wiring, ""},
		"the same zone at both ports":          {server(".:53 .:{$ATOLL_OTHER}", ""), wiring, ""},
		"variable ports of other addresses":    {server(".:53", "127.0.0.1") + server("cluster.local:{$ATOLL_PORT}", "127.0.0.2"), wiring, ""},
		"too many servers":                     {server(".", ""), many, "16 server addresses"},
		"as many servers as can be":            {server(".", ""), most, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := coreDNS(test.text)
			if err := starts(t, test.text); err != nil {
				t.Fatalf("the test's own Corefile: %v", err)
			}
			changes, err := Install(before, test.wiring, []Form{CoreDNS})
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
			if err != nil {
				return
			}
			if err := starts(t, before.with(changes).CoreDNS.Data["Corefile"]); err != nil {
				t.Errorf("%v\n%s", err, before.with(changes).CoreDNS.Data["Corefile"])
			}
		})
	}
}
