package haproxy

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

var at = netip.MustParseAddrPort

// everything is a balancer that uses every feature of the template.
func everything(t *testing.T) *balancer {
	t.Helper()
	b, err := plan(types.NamespacedName{Namespace: "shop", Name: "web"}, []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")},
		cloudprovider.Service{
			Affinity: 3 * time.Hour, SourceRanges: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/32")},
			Ports: []cloudprovider.Port{{Protocol: corev1.ProtocolTCP, Number: 80, Backends: []cloudprovider.Backend{
				{Address: at("10.0.0.1:8080")}, {Address: at("[2001:db8:1::1]:8080")}, {Address: at("10.0.0.2:8080"), Draining: true},
			}}, {Protocol: corev1.ProtocolUDP, Number: 53}, {Protocol: corev1.ProtocolTCP, Number: 443}},
		}, cloudprovider.Options{ProxyProtocol: 2, MaxConnections: 10, ConnectionRate: 20})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRender(t *testing.T) {
	dir := t.TempDir()
	c := configuration{Dir: "/tmp/x", States: "/tmp/x/states", HardStop: "86400000", MaxReloads: 25}
	text, err := render(c, []*balancer{everything(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(text, "srvtcpka-cnt 3\n")
	arguments := "check inter 5s fastinter 1s downinter 1s fall 2 rise 1 observe layer4 error-limit 1 on-error mark-down send-proxy-v2"
	common := `  maxconn 10
  rate-limit sessions 20
  # proxy-protocol 2
  acl admitted src 198.51.100.0/24
  acl admitted src 2001:db8::/32
  tcp-request connection reject if !admitted
  stick-table type ipv6 size 100k expire 10800s peers atoll
  stick on src
`
	want := `listen shop_web_80
  bind 192.0.2.1:80
  bind [2001:db8::1]:80
` + common + `  server 10.0.0.1_8080 10.0.0.1:8080 ` + arguments + `
  server 2001:db8:1::1_8080 [2001:db8:1::1]:8080 ` + arguments + `
  server 10.0.0.2_8080 10.0.0.2:8080 ` + arguments + ` disabled
listen shop_web_443
  bind 192.0.2.1:443
  bind [2001:db8::1]:443
` + common
	if sections != want {
		t.Errorf("got:\n%s\nwant:\n%s", sections, want)
	}
	if program, err := exec.LookPath("haproxy"); err == nil && !testing.Short() {
		file := filepath.Join(dir, "haproxy.cfg")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, err := exec.Command(program, "-c", "-q", "-L", "local", "-f", file).CombinedOutput(); err != nil {
			t.Errorf("HAProxy refuses the configuration: %v: %s", err, output)
		}
	}

	// Servers do not affect the version; all other fields do.
	o := outlineOf(text)
	if len(o.places) != 4 || o.places[3] != at("[2001:db8::1]:443") {
		t.Errorf("listens at %v", o.places)
	}
	again := func(change func(*balancer), unbound map[netip.AddrPort]error) string {
		b := everything(t)
		change(b)
		text, err := render(c, []*balancer{b}, unbound)
		if err != nil {
			t.Fatal(err)
		}
		return outlineOf(text).version
	}
	if again(func(b *balancer) { b.Listens[0].Servers, b.Listens[0].Resting = nil, nil }, nil) != o.version {
		t.Error("different servers changed the version")
	}
	for i, change := range []func(*structure){
		func(s *structure) { s.Binds = s.Binds[:1] }, func(s *structure) { s.ProxyProtocol = 0 }, func(s *structure) { s.MaxConnections++ },
		func(s *structure) { s.ConnectionRate++ }, func(s *structure) { s.Affinity += time.Second }, func(s *structure) { s.Sources = nil },
		func(s *structure) { s.Name += "0" },
	} {
		if again(func(b *balancer) { change(&b.Listens[0].structure) }, nil) == o.version {
			t.Errorf("the same version with change %d of the structure", i)
		}
		b := everything(t)
		change(&b.Listens[0].structure)
		if b.sameStructure(everything(t)) {
			t.Errorf("change %d of the structure is not seen", i)
		}
	}
	if again(func(*balancer) {}, map[netip.AddrPort]error{at("192.0.2.1:80"): os.ErrExist}) == o.version {
		t.Error("the same version with a place less")
	}
}

// allowed matches every valid line of a section.
var allowed = regexp.MustCompile(`^(listen [-a-z0-9]+_[-a-z0-9]+_[0-9]+` +
	`|  bind [][0-9a-f.:]+` +
	`|  (maxconn|rate-limit sessions) [0-9]+` +
	`|  # proxy-protocol -?[0-9]+` +
	`|  acl admitted src [0-9a-f.:]+/[0-9]+` +
	`|  tcp-request connection reject if !admitted` +
	`|  stick-table type ipv6 size 100k expire [0-9]+s peers atoll` +
	`|  stick on src` +
	`|  server [0-9a-f.:]+_[1-9][0-9]* [][0-9a-f.:]+ check [a-z0-9 -]+)$`)

// For all names and numbers, the configuration contains only valid lines.
func FuzzRender(f *testing.F) {
	f.Add("shop", "web", int32(80), 1, 2, 3, int64(1000), []byte{10, 0, 0, 1}, uint16(8080))
	f.Add("shop\n", "web\nlisten x", int32(-1), -1, -1, 7, int64(-1), []byte{}, uint16(0))
	f.Add("a b", "é", int32(65536), 0, 0, 2, int64(1), make([]byte, 16), uint16(1))
	f.Fuzz(func(t *testing.T, namespace, name string, port int32, most, rate, proxy int, affinity int64, address []byte, backend uint16) {
		a, ok := netip.AddrFromSlice(address)
		if !ok {
			a = netip.IPv6Loopback()
		}
		service, _ := cloudprovider.Usable(cloudprovider.Service{
			Affinity: time.Duration(affinity), SourceRanges: []netip.Prefix{netip.PrefixFrom(a.WithZone(""), 8)},
			Ports: []cloudprovider.Port{{Name: name, Protocol: corev1.ProtocolTCP, Number: port, Backends: []cloudprovider.Backend{{Address: netip.AddrPortFrom(a, backend), Cluster: name}}}},
		})
		b, err := plan(types.NamespacedName{Namespace: namespace, Name: name}, []netip.Addr{a.WithZone("")}, service, cloudprovider.Options{ProxyProtocol: proxy, MaxConnections: max(0, most), ConnectionRate: max(0, rate), Provider: namespace})
		if err != nil || len(service.Ports) == 0 {
			return
		}
		text, err := render(configuration{Dir: "/f", HardStop: "1"}, []*balancer{b}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, sections, _ := strings.Cut(text, "srvtcpka-cnt 3\n")
		lines := strings.Split(strings.TrimSuffix(sections, "\n"), "\n")
		if strings.Count(text, "\nlisten ") != 1 || len(lines) > 11 {
			t.Fatalf("unexpected lines: %q", sections)
		}
		for _, line := range lines {
			if !allowed.MatchString(line) {
				t.Fatalf("%q", line)
			}
		}
	})
}

func FuzzParseStates(f *testing.F) {
	f.Add("1\n# be_id be_name\n2 shop_web_80 1 10.0.0.1_80 10.0.0.1 2 0 1 1\n2 shop_web_80 2 2001:db8::1_80 2001:db8::1 0 0 1 1\n2 shop_web_80 3 10.0.0.3_80 10.0.0.1 0 1 1 1\n")
	f.Fuzz(func(t *testing.T, answer string) {
		found, ok := parseStates(answer)
		if !ok && len(found) > 0 {
			t.Error("both states and an error")
		}
		for _, servers := range found {
			for a, s := range servers {
				if back, ok := parseServerName(serverName(a)); !ok || back != a || s.resting && s.down {
					t.Errorf("%v: %v, %+v", a, back, s)
				}
			}
		}
	})
}

func TestParseStates(t *testing.T) {
	found, ok := parseStates("1\n# be_id be_name\n2 shop_web_80 1 10.0.0.1_80 10.0.0.1 2 0 1 1\n2 shop_web_80 2 2001:db8::1_80 2001:db8::1 0 0 1 1\n" +
		"2 shop_web_80 3 10.0.0.3_80 10.0.0.1 0 1 1 1\n2 shop_web_80 4 10.0.0.4_80 10.0.0.4 2 4 1 1\n2 shop_web_80 5 10.0.0.5_80 10.0.0.5 0 5 1 1\n" +
		"2 shop_web_80 6 10.0.0.6_80 10.0.0.6 2 8 1 1\n3 shop_web_81 1 10.0.0.9_80 10.0.0.9 2 0 1 1\n")
	// A server that the configuration has disabled, and that is ready now, has only this bit.
	want := fmt.Sprint(map[netip.AddrPort]serverState{
		at("10.0.0.1:80"): {}, at("[2001:db8::1]:80"): {down: true}, at("10.0.0.3:80"): {resting: true}, at("10.0.0.4:80"): {}, at("10.0.0.5:80"): {resting: true}, at("10.0.0.6:80"): {resting: true},
	})
	if !ok || fmt.Sprint(found["shop_web_80"]) != want {
		t.Errorf("got %v, want %s", found, want)
	}
	if _, ok := parseStates("Can't find backend."); ok {
		t.Error("no error where there is no such section")
	}
}

func TestShare(t *testing.T) {
	draining := func(text string) cloudprovider.Backend {
		return cloudprovider.Backend{Address: at(text), Draining: true}
	}
	var l listen
	l.share([]cloudprovider.Backend{{Address: at("10.0.0.1:80")}, draining("10.0.0.2:80")})
	if !slices.Equal(l.Servers, []netip.AddrPort{at("10.0.0.1:80")}) || !slices.Equal(l.Resting, []netip.AddrPort{at("10.0.0.2:80")}) {
		t.Errorf("got %+v", l)
	}
	l.share([]cloudprovider.Backend{draining("10.0.0.1:80"), draining("10.0.0.2:80")})
	if len(l.Servers) != 2 || len(l.Resting) != 0 {
		t.Errorf("where all are draining: %+v", l)
	}
}
