package scenario

import "testing"

func TestSummary(t *testing.T) {
	header := ";; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n;; flags: qr aa rd; QUERY: 1, ANSWER: 2\n\n"
	soa := "\n;; AUTHORITY SECTION:\nx. 5 IN SOA ns.dns.x. hostmaster.x. 17 7200 1800 86400 5\n"
	var many string
	for range manyRecords + 1 {
		many += "a.x. 5 IN A 10.0.0.1\n"
	}
	for name, test := range map[string]struct{ output, want string }{
		"answers in order": {
			header + ";; ANSWER SECTION:\na.x. 5 IN SRV 0 50 80 b.x.\na.x. 5 IN SRV 0 50 80 a.x.\n\n;; ADDITIONAL SECTION:\na.x. 5 IN A 10.0.0.1\nb.x. 5 IN A 10.0.0.2\n",
			"SRV 0 50 80 a.x., SRV 0 50 80 b.x., +2 addresses",
		},
		"no data":       {header + soa, "no data, SOA with minimum 5"},
		"no SOA":        {header, "no data"},
		"no name":       {";; status: NXDOMAIN, id: 1\n;; flags: qr; QUERY: 1\n" + soa, "NXDOMAIN, not authoritative, SOA with minimum 5"},
		"a serial":      {header + ";; ANSWER SECTION:\nx. 5 IN SOA ns.dns.x. hostmaster.x. 17 7200 1800 86400 5\n", "SOA ns.dns.x. hostmaster.x."},
		"many":          {header + ";; ANSWER SECTION:\n" + many, "13 × A"},
		"too many":      {";; status: NOERROR, id: 1\n;; flags: qr aa tc rd; QUERY: 1\n;; ANSWER SECTION:\n" + many, "as many A as fit, truncated"},
		"a long TTL":    {header + ";; ANSWER SECTION:\nx. 60 IN TXT a\nx. 5 IN TXT b\n", "TXT a, TXT b, TTL 60"},
		"not an answer": {"", ""},
	} {
		answer, err := parseDig(test.output)
		if (err != nil) != (test.want == "") {
			t.Errorf("%s: %v", name, err)
		} else if got := answer.summary(); err == nil && got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func TestShorten(t *testing.T) {
	r := &Run{env: map[string]string{"POD": "10.0.0.1", "POD_HOST": "10.0.0.1", "VIP": "fd00::1", "OTHER": "x"}}
	short, long := r.shorten("ns.svc.x")
	for from, want := range map[string]string{
		"SRV 0 1 80 10-0-0-1.c1.web.ns.svc.x.": "SRV 0 1 80 pod-with-dashes.c1.web",
		"A 10.0.0.1":                           "A POD", "AAAA fd00::1": "AAAA VIP", "NS ns.dns.x.": "NS ns.dns.x.",
	} {
		if got := short(from); got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
	for from, want := range map[string]string{
		"pod-with-dashes.c1.web A": "10-0-0-1.c1.web A", "pod-reversed. PTR": "1.0.0.10.in-addr.arpa. PTR", "web A": "web A",
	} {
		if got := long(from); got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
}
