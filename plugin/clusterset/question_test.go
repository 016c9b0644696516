package clusterset

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// For any name on the wire the parser does not panic, and its parts are the parts of the name.
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
