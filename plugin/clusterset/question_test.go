package clusterset

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// Pitfall 23: a name below a service is not taken apart by counting labels.
func TestParseQuestion(t *testing.T) {
	for _, tt := range []struct {
		name string
		want question
	}{
		{"", question{kind: apex}},
		{"dns-version", question{kind: version}},
		{"dns", question{kind: nsParent}},
		{"ns.dns", question{kind: nameserver}},
		{"svc", question{kind: root}},
		{"shop.svc", question{kind: namespace, namespace: "shop"}},
		{"svc.svc", question{kind: namespace, namespace: "svc"}},
		{"web.shop.svc", question{kind: service, namespace: "shop", service: "web.shop"}},
		{"c1.web.shop.svc", question{kind: service, namespace: "shop", service: "web.shop", rest: "c1"}},
		{"h.c1.web.shop.svc", question{kind: service, namespace: "shop", service: "web.shop", rest: "h.c1"}},
		{"h.c1.eu.web.shop.svc", question{kind: service, namespace: "shop", service: "web.shop", rest: "h.c1.eu"}},
		{"_http._tcp.web.shop.svc", question{kind: service, namespace: "shop", service: "web.shop", rest: "_http._tcp"}},
		{"pod", question{}},
		{"web.shop.pod", question{}},
		{"xsvc", question{}},
		{"a.ns.dns", question{}},
	} {
		if got := parseQuestion(tt.name); got != tt.want {
			t.Errorf("parseQuestion(%q) = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Whatever comes over the wire, nothing panics, and what is taken apart is the
// name.
func FuzzQuestion(f *testing.F) {
	for _, name := range []string{".", "clusterset.local.", "web.shop.svc.clusterset.local.", `a\.b.svc.clusterset.local.`,
		`a\.clusterset.local.`, `a\\.clusterset.local.`, "..svc.clusterset.local.", "_http._tcp.web.shop.svc.clusterset.local.", "\xff.svc.clusterset.local."} {
		f.Add(name)
	}
	zones := []*zone{newZone("clusterset.local."), newZone("eu.clusterset.local."), newZone(".")}
	f.Fuzz(func(t *testing.T, name string) {
		z, relative := mostSpecific(zones, name)
		if z == nil {
			t.Fatalf("%q is not even in the root zone", name)
		}
		if z.name != "." && relative+"."+z.name != name && z.name != name {
			t.Fatalf("%q was cut into %q and %q", name, relative, z.name)
		}
		q := parseQuestion(relative)
		if _, ok := dns.IsDomainName(name); !ok {
			return // does not come over the wire
		}
		whole := q.service + ".svc"
		switch {
		case q.kind == namespace:
			whole = q.namespace + ".svc"
		case q.kind != service:
			return
		case q.rest != "":
			whole = q.rest + "." + whole
		}
		if whole != relative {
			t.Fatalf("%q was taken apart as %+v", relative, q)
		}
		if q.kind == service && !strings.HasSuffix(q.service, "."+q.namespace) {
			t.Fatalf("service of %+v is not in its namespace", q)
		}
	})
}

func TestMostSpecificZone(t *testing.T) {
	zones := []*zone{newZone("clusterset.local."), newZone("eu.clusterset.local."), newZone("example.")}
	for _, tt := range []struct{ name, zone, relative string }{
		{"clusterset.local.", "clusterset.local.", ""},
		{"web.shop.svc.clusterset.local.", "clusterset.local.", "web.shop.svc"},
		{"web.shop.svc.eu.clusterset.local.", "eu.clusterset.local.", "web.shop.svc"},
		{"eu.clusterset.local.", "eu.clusterset.local.", ""},
		{"example.", "example.", ""},
		{"xclusterset.local.", "", ""},
		{"local.", "", ""},
		{".", "", ""},
		{`x\.clusterset.local.`, "", ""},
		{`x\\.clusterset.local.`, "clusterset.local.", `x\\`},
	} {
		got, relative := mostSpecific(zones, tt.name)
		name := ""
		if got != nil {
			name = got.name
		}
		if name != tt.zone || relative != tt.relative {
			t.Errorf("%q is %q in zone %q, want %q in %q", tt.name, relative, name, tt.relative, tt.zone)
		}
	}
}
