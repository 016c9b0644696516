package clusterset

import (
	"slices"
	"strings"
	"testing"

	"github.com/coredns/caddy"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		corefile string
		keys     []string
		want     options
		err      string
	}{
		{corefile: `clusterset clusterset.local`, want: options{zones: []string{"clusterset.local."}, ttl: 5}},
		{corefile: `clusterset Clusterset.LOCAL example.org.`, want: options{zones: []string{"clusterset.local.", "example.org."}, ttl: 5}},
		{corefile: `clusterset`, keys: []string{"clusterset.local.:53"}, want: options{zones: []string{"clusterset.local."}, ttl: 5}},
		{corefile: `clusterset`, keys: []string{"clusterset.local.:53", "clusterset.local.:5353"}, want: options{zones: []string{"clusterset.local."}, ttl: 5}},
		{corefile: `clusterset`, keys: []string{"clusterset.local.", "10.in-addr.arpa."}, want: options{zones: []string{"clusterset.local."}, reverse: []string{"10.in-addr.arpa."}, ttl: 5}},
		{corefile: `clusterset in-addr.arpa a.local 10.0.0.0/16 fd00::/112`, want: options{zones: []string{"a.local."}, reverse: []string{
			"in-addr.arpa.", "0.10.in-addr.arpa.", "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa."}, ttl: 5}},
		{corefile: `clusterset d.f.ip6.arpa xin-addr.arpa arpa`, want: options{zones: []string{"xin-addr.arpa.", "arpa."}, reverse: []string{"d.f.ip6.arpa."}, ttl: 5}},
		{corefile: "clusterset a.local {\nttl 0\n}", want: options{zones: []string{"a.local."}}},
		{corefile: "clusterset a.local {\nttl 3600\n}", want: options{zones: []string{"a.local."}, ttl: 3600}},
		{corefile: "clusterset a.local {\nkubeconfig f\n}", want: options{zones: []string{"a.local."}, ttl: 5, kubeconfig: "f"}},
		{corefile: "clusterset a.local {\nkubeconfig f c1\n}", want: options{zones: []string{"a.local."}, ttl: 5, kubeconfig: "f", context: "c1"}},
		{corefile: "clusterset a.local {\nttl 3601\n}", err: "ttl must be in range [0, 3600]: 3601"},
		{corefile: "clusterset a.local {\nttl -1\n}", err: "not a number"},
		{corefile: "clusterset a.local {\nttl\n}", err: "argument"},
		{corefile: "clusterset a.local {\nttl 1 2\n}", err: "argument"},
		{corefile: "clusterset a.local {\nkubeconfig\n}", err: "argument"},
		{corefile: "clusterset a.local {\nkubeconfig a b c\n}", err: "argument"},
		{corefile: "clusterset a.local {\nendpoints\n}", err: "unknown property 'endpoints'"},
		{corefile: "clusterset 10.in-addr.arpa", err: "at least one zone"},
		{corefile: "clusterset", err: "at least one zone"},
		{corefile: "clusterset a.local\nclusterset b.local", err: "once"},
	} {
		c := caddy.NewTestController("dns", tt.corefile)
		c.ServerBlockKeys = tt.keys
		got, err := parse(c)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: got %v, want an error that says %q", tt.corefile, err, tt.err)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.corefile, err)
		case !slices.Equal(got.zones, tt.want.zones) || !slices.Equal(got.reverse, tt.want.reverse) || got.ttl != tt.want.ttl ||
			got.kubeconfig != tt.want.kubeconfig || got.context != tt.want.context:
			t.Errorf("%q: got %+v, want %+v", tt.corefile, got, tt.want)
		}
	}
}

func TestParseFallthrough(t *testing.T) {
	o, err := parse(caddy.NewTestController("dns", "clusterset a.local {\nfallthrough\n}"))
	if err != nil || !o.fall.Through("x.a.local.") {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = parse(caddy.NewTestController("dns", "clusterset a.local {\nfallthrough b.a.local\n}"))
	if err != nil || o.fall.Through("x.a.local.") || !o.fall.Through("x.b.a.local.") {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestMissingKubeconfig(t *testing.T) {
	o := options{kubeconfig: "/does/not/exist"}
	if _, err := o.clientConfig(); err == nil || !strings.Contains(err.Error(), "reading kubeconfig /does/not/exist") {
		t.Errorf("got %v", err)
	}
}
