package corefile

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"different zones", "a {\n}\nb {\n}", ""},
		{"a zone twice", "a {\n}\nb A. {\n}", `line 3: the server block "b A." serves the zone a at the same address and port as the server block "a" in line 1`},
		{"twice in a block", ". .:53 {\n}", "serves the zone ."},
		{"the default port", "a {\n}\ndns://a:53 {\n}", "serves the zone a"},
		{"another port", "a {\n}\na:1053 {\n}", ""},
		{"another transport", "a {\n}\ntls://a {\n}", ""},
		{"a transport's default port", "tls://a:853 {\n}\ntls://a {\n}", "serves the zone a"},
		{"other addresses", "a {\n bind 10.0.0.1\n}\na {\n bind 10.0.0.2\n}", ""},
		{"one address too many", "a {\n bind 10.0.0.1\n}\na {\n bind 10.0.0.2\n bind 10.0.0.1\n}", "serves the zone a"},
		{"except it", "a {\n bind 10.0.0.1\n}\na {\n bind 10.0.0.2 10.0.0.1 {\n except 10.0.0.1\n }\n}", ""},
		{"all addresses and one", "a {\n}\na {\n bind 10.0.0.1\n}", "serves the zone a"},
		{"one address and all", "a {\n bind 10.0.0.1\n}\na {\n}", "serves the zone a"},
		{"an address twice", "a {\n bind lo lo\n}", "serves the zone a"},
		{"a view", "a {\n view v {\n }\n}\na {\n}\n", ""},
		{"a view beside others", "a {\n bind lo\n}\na {\n view v {\n }\n}\n", "serves the zone a"},
		{"addresses", "10.0.0.0/15 {\n}\n2.10.in-addr.arpa {\n}", ""},
		{"overlapping addresses", "10.0.0.0/15 {\n}\n1.10.in-addr.arpa {\n}\n10.1.0.0/16 {\n}", "serves the zone 1.10.in-addr.arpa"},
		{"no zone", "a:b: {\n}", `the key "a:b:" is not a zone`},
		{"a variable", ".:{$P} {\n}\n. {\n}\n{$Z} {\n}", ""},
		{"a variable twice", ".:{$P} {\n}\n.:{$P} {\n}", "serves the zone ."},
	} {
		file, err := Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		err = file.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
