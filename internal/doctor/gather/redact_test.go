package gather

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"

// TestRedact: credentials are replaced, and all other text is kept.
func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		`msg="token ` + jwt + ` expired" cluster=c1`:                              `msg="token REDACTED expired" cluster=c1`,
		`{"token":"` + jwt + `","cluster":"c1"}`:                                  `{"token":REDACTED,"cluster":"c1"}`,
		"Authorization: Bearer abcdefghijkl":                                      "Authorization: Bearer REDACTED",
		"password: hunter2\nuser: me":                                             "password: REDACTED\nuser: me",
		`--db-password=hunter2 --region=eu`:                                       `--db-password=REDACTED --region=eu`,
		"https://me:hunter2@broker:6443/x":                                        "https://REDACTED@broker:6443/x",
		"a\n-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\nb": "a\nREDACTED\nb",
		"-----BEGIN PRIVATE KEY-----\ncut short":                                  "REDACTED",
		"client-key-data: LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCg==":           "client-key-data: REDACTED",
		"token: ZXlKaGJHY2lPaUpGVXpJMU5pSjk=":                                     "token: REDACTED",
		"-----BEGIN CERTIFICATE-----\nabc\n":                                      "-----BEGIN CERTIFICATE-----\nabc\n",
		"route53 example.org {\n    aws_access_key AKIA xyz\n    upstream\n}":     "route53 example.org {\n    aws_access_key REDACTED\n    upstream\n}",
		"etcd {\n\tcredentials me hunter2\n}":                                     "etcd {\n\tcredentials REDACTED\n}",
		"password: |-\n  hunter2\n  more\nuser: me":                               "password: REDACTEDuser: me",
		`"body":"{\"password\":\"hunter2\",\"user\":\"me\"}"`:                     `"body":"{\"password\":REDACTED,\"user\":\"me\"}"`,
		`"password":"hun\"ter2","user":"me"`:                                      `"password":REDACTED,"user":"me"`,
		"args:\n- --token\n- hunter2\n- --region\n- eu":                           "args:\n- --token\n- REDACTED\n- --region\n- eu",
		"renewing the token failed; retrying":                                     "renewing the token failed; retrying",
		"automountServiceAccountToken: false":                                     "automountServiceAccountToken: false",
		"secretName: atoll-broker":                                                "secretName: atoll-broker",
		"10.1.2.3:8080 fd00::1 web.shop.svc.clusterset.local":                     "10.1.2.3:8080 fd00::1 web.shop.svc.clusterset.local",
	} {
		if got := string(Redact([]byte(text))); got != want {
			t.Errorf("%q\n got  %q\n want %q", text, got, want)
		}
	}
}

// TestNoTokenIsLeft: no token is left in a text, wherever it stands.
func TestNoTokenIsLeft(t *testing.T) {
	part := rapid.StringMatching(`[A-Za-z0-9_-]{20,60}`)
	rapid.Check(t, func(t *rapid.T) {
		token := "eyJ" + part.Draw(t, "header") + ".eyJ" + part.Draw(t, "claims") + "." + part.Draw(t, "signature")
		around := rapid.StringMatching(`[ a-z":={},\n]{0,40}`)
		text := around.Draw(t, "before") + " " + token + rapid.SampledFrom([]string{"", "\"", "\n", " ", ","}).Draw(t, "end") + around.Draw(t, "after")
		got := string(Redact([]byte(text)))
		for _, p := range strings.Split(token, ".") {
			if strings.Contains(got, p) {
				t.Fatalf("%q is left in %q", p, got)
			}
		}
	})
}

// TestStrip: values of environment variables are removed, also from kubectl's annotation,
// because they may be secrets.
func TestStrip(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Deployment",
		"metadata": map[string]any{
			"name": "atoll-agent", "managedFields": []any{map[string]any{"manager": "x"}},
			"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "other": "kept"},
		},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
			"image": "atoll-agent:v1", "args": []any{"--region=eu"}, "env": []any{map[string]any{"name": "DB", "value": "hunter2"}, map[string]any{"name": "REF"}},
		}}}}},
	}}
	strip(o)
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"hunter2", "managedFields"} {
		if strings.Contains(string(text), gone) {
			t.Errorf("%s is left in %s", gone, text)
		}
	}
	for _, kept := range []string{"--region=eu", "atoll-agent:v1", `"name":"DB"`, `"other":"kept"`} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%s is not in %s", kept, text)
		}
	}
}

// TestArchive: all files are in a single folder, without secrets, and the archive lists missing
// files.
func TestArchive(t *testing.T) {
	var to bytes.Buffer
	a := NewArchive(&to, "root", time.Now())
	a.Add("a/b.log", []byte("token "+jwt))
	a.Miss("c1: forbidden for %s", jwt)
	files, missing, err := a.Close()
	if err != nil || len(files) != 2 || len(missing) != 1 {
		t.Fatalf("%v %v %v", files, missing, err)
	}
	zip, err := gzip.NewReader(&to)
	if err != nil {
		t.Fatal(err)
	}
	in, all := tar.NewReader(zip), ""
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all += h.Name + ": " + string(text) + "\n"
	}
	if want := "root/a/b.log: token REDACTED\nroot/missing.txt: c1: forbidden for REDACTED\n\n"; all != want {
		t.Errorf("%q, want %q", all, want)
	}
}
