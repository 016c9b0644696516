package credential

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// token returns an unsigned token.
func token(subject string, issued, expires int64) string {
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return encode(`{"alg":"none"}`) + "." + encode(fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, subject, issued, expires)) + ".x"
}

// ca is a certificate for this test.
const ca = `-----BEGIN CERTIFICATE-----
MIIBMTCB2KADAgECAgEBMAoGCCqGSM49BAMCMA8xDTALBgNVBAMTBHRlc3QwHhcN
MjYwMTAxMDAwMDAwWhcNMzYwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDEwR0ZXN0MFkw
-----END CERTIFICATE-----
`

func valid() Membership {
	return Membership{
		ClusterID: "c1.eu", Clusterset: "atoll-clusterset", Server: "https://broker.example:6443",
		Token: token("system:serviceaccount:atoll-clusterset:join-c1.eu", 1000, 4600),
	}
}

func TestRoundTrips(t *testing.T) {
	m := valid()
	file, err := m.JoinFile()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"until 1970-01-01T01:16:40Z", "kind: JoinFile", "clusterID: c1.eu"} {
		if !strings.Contains(string(file), want) {
			t.Errorf("the join file does not say %q:\n%s", want, file)
		}
	}
	again, err := ParseJoinFile(file)
	if diff := cmp.Diff(m, again, cmp.Transformer("text", func(b []byte) string { return string(b) })); err != nil || diff != "" {
		t.Errorf("join file: %v, %s", err, diff)
	}
	again, err = FromSecret(m.Secret("ns"))
	if diff := cmp.Diff(m, again, cmp.Transformer("text", func(b []byte) string { return string(b) })); err != nil || diff != "" {
		t.Errorf("secret: %v, %s", err, diff)
	}
}

func TestParseJoinFileRefuses(t *testing.T) {
	file, err := valid().JoinFile()
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) string {
		if !strings.Contains(string(file), old) {
			t.Fatalf("no %q in the join file", old)
		}
		return strings.Replace(string(file), old, new, 1)
	}
	for name, c := range map[string]struct{ file, want string }{
		"nothing":          {" \n", "the join file is empty; create a join file with: atoll broker token create"},
		"no YAML":          {"\t{", "this is not a join file"},
		"a kubeconfig":     {"apiVersion: v1\nkind: Config\n", `its kind is "Config"`},
		"a later version":  {replace("atoll.dev/v1alpha1", "atoll.dev/v9"), `has version "atoll.dev/v9"`},
		"an unknown field": {replace("clusterset: ", "colour: blue\nclusterset: "), "unknown field"},
		"a wrong id":       {replace("clusterID: c1.eu", "clusterID: C1"), "not a DNS label"},
		"another's id":     {replace("clusterID: c1.eu", "clusterID: c2"), `not an account of cluster "c2"`},
		"another set":      {replace("clusterset: atoll-clusterset", "clusterset: other"), `in clusterset "other"`},
		"no clusterset":    {replace("clusterset: atoll-clusterset", `clusterset: ""`), "the clusterset's name is missing"},
		"no TLS":           {replace("https://broker", "http://broker"), "does not have the form https://HOST[:PORT]"},
		"no host":          {replace("https://broker.example:6443", "https://"), "does not have the form"},
		"no certificate":   {replace("server: ", "certificateAuthority: hello\nserver: "), "the certificate authority data is not PEM"},
		"a broken one":     {replace("server: ", "certificateAuthority: |\n  "+strings.ReplaceAll(ca, "\n", "\n  ")+"\nserver: "), "the broker's certificate authority is invalid: x509"},
		"no token":         {replace("token: ", "token: x #"), "the token is invalid:"},
	} {
		if _, err := ParseJoinFile([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestClaims(t *testing.T) {
	member := names.MemberAccount("c1")
	for name, c := range map[string]struct {
		subject     string
		act, joiner bool
	}{
		"the member":        {"system:serviceaccount:set:" + member, true, false},
		"its joiner":        {"system:serviceaccount:set:join-c1", true, true},
		"another's":         {"system:serviceaccount:set:member-c2", false, false},
		"in another set":    {"system:serviceaccount:other:member-c1", false, false},
		"another's joiner":  {"system:serviceaccount:set:join-c2", false, false},
		"no account at all": {"member-c1", false, false},
	} {
		claims, err := ParseToken(token(c.subject, 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		if got := claims.MayAct("c1", "set"); got != c.act {
			t.Errorf("%s may act: %v", name, got)
		}
		if got := claims.IsJoiner("c1", "set"); got != c.joiner {
			t.Errorf("%s is the joiner: %v", name, got)
		}
	}
	for name, bad := range map[string]string{
		"empty": "", "two parts": "a.b", "not base64": "a.!.c", "no JSON": "a.YQ.c",
		"no subject": token("", 1, 2), "no life": token("x", 2, 2),
	} {
		if _, err := ParseToken(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A token comes from a join file if it is bound to the Secret that was created with that file.
func TestFrom(t *testing.T) {
	const uid = "0f1c2d3e-0000-4000-8000-000000000001"
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	of := func(account, claims string) Membership {
		return Membership{ClusterID: "c1", Clusterset: "set", Token: encode("{}") + "." +
			encode(fmt.Sprintf(`{"sub":"system:serviceaccount:set:%s","iat":1,"exp":2,"kubernetes.io":{%s}}`, account, claims)) + ".x"}
	}
	bound := func(name string) Membership {
		return of("member-c1", fmt.Sprintf(`"secret":{"name":%q,"uid":"u"},"serviceaccount":{"name":"member-c1","uid":"m"}`, name))
	}
	file := of("join-c1", fmt.Sprintf(`"serviceaccount":{"name":"join-c1","uid":%q}`, uid))
	mine := bound("member-c1-" + uid)
	claims, err := ParseToken(mine.Token)
	if want := (Binding{"member-c1-" + uid, "u"}); err != nil || claims.Binding != want || claims.AccountUID != "m" {
		t.Errorf("claims %+v, %v", claims, err)
	}
	if got := names.CredentialJoiner("c1", claims.Binding.Name); got != uid {
		t.Errorf("the joiner's UID is %q", got)
	}
	if got := names.CredentialJoiner("c1", "member-c1-x-"+uid); got != "" {
		t.Errorf("of a Secret of c1-x, the joiner's UID is %q", got)
	}
	elsewhere := mine
	elsewhere.Clusterset = "other"
	for name, c := range map[string]struct {
		have Membership
		want bool
	}{
		"the file's use":     {mine, true},
		"another file's":     {bound("member-c1-0f1c2d3e-0000-4000-8000-000000000002"), false},
		"the file itself":    {file, false},
		"of no join file":    {of("member-c1", ""), false},
		"another clusterset": {elsewhere, false},
	} {
		if got := c.have.From(file); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if mine.From(of("join-c1", "")) {
		t.Error("a file without a UID has been used")
	}
}

// At any time a token is renewed while four fifths of its life are left.
func TestRenewIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		issued := rapid.Int64Range(0, 1<<32).Draw(t, "issued")
		life := rapid.Int64Range(600, 7*24*3600).Draw(t, "life")
		now := time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "now"), 0)
		claims, err := ParseToken(token("x", issued, issued+life))
		if err != nil {
			t.Fatal(err)
		}
		in := claims.RenewIn(now)
		if in > claims.RenewAfter() {
			t.Fatalf("renewal in %v, want at most %v", in, claims.RenewAfter())
		}
		if right := !now.Before(claims.Issued); right && claims.Expires.Sub(now.Add(max(in, 0))) < 4*time.Duration(life)*time.Second/5 && in > 0 {
			t.Fatalf("renewal in %v although less than four fifths of the life are left", in)
		}
		if now.After(claims.Expires) && in > 0 {
			t.Fatalf("an expired token is renewed in %v", in)
		}
	})
}

// FuzzParseJoinFile: parsing any file returns an error, or a membership that can be written and
// parsed again.
func FuzzParseJoinFile(f *testing.F) {
	file, err := valid().JoinFile()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add([]byte("kind: JoinFile\napiVersion: atoll.dev/v1alpha1\ntoken: a.b.c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseJoinFile(data)
		if err != nil {
			return
		}
		again, err := m.JoinFile()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseJoinFile(again); err != nil || !back.SameBroker(m) || back.Token != m.Token {
			t.Fatalf("%+v became %+v, %v", m, back, err)
		}
	})
}
