package scenario

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const digged = `;; Got answer:
;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 35713
;; flags: qr aa rd; QUERY: 1, ANSWER: 2, AUTHORITY: 1, ADDITIONAL: 2
;; WARNING: recursion requested but not available

;; OPT PSEUDOSECTION:
; EDNS: version: 0, flags:; udp: 1232
;; ANSWER SECTION:
web.shop.	5	IN	A	10.0.0.9
web.shop.	5	IN	A	10.103.0.7

;; AUTHORITY SECTION:
shop.	5	IN	SOA	ns.dns. hostmaster. 1732190000 7200 1800 86400 5

;; ADDITIONAL SECTION:
web.shop.	5	IN	AAAA	fd00::7
7.0.103.10.in-addr.arpa. 5	IN	PTR	web.shop.
ns.dns.	5	IN	A	10.3.1.5
ns.dns.	5	IN	AAAA	fd00::5
`

const written = `# Two questions

$ dig $VIP_REVERSE PTR
;; NOERROR, flags: qr aa rd
;; ANSWER SECTION:
web.shop. 5 IN A $VIP
web.shop. 5 IN A 10.0.0.9
;; AUTHORITY SECTION:
shop. 5 IN SOA ns.dns. hostmaster. SERIAL 7200 1800 86400 5
;; ADDITIONAL SECTION:
$VIP_REVERSE 5 IN PTR web.shop.
ns.dns. 5 IN A OWN
ns.dns. 5 IN AAAA OWN
web.shop. 5 IN AAAA $SIX
# and no answer
`

// transcribe runs a script on a file of that content, and returns what is in it afterwards.
func transcribe(t *testing.T, content string, exec func(cluster string, args []string) Result) (string, error) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "x.golden")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := Parse(filepath.Join(folder, "x.txtar"), []byte("env VIP=10.103.0.7\nenv SIX=fd00:0::7\ntranscript c2 x.golden VIP SIX\n"))
	if err != nil {
		t.Fatal(err)
	}
	fake := newFake()
	fake.exec = exec
	err = Execute(context.Background(), script, fake, t.Logf)
	after, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(after), err
}

func TestTranscript(t *testing.T) {
	var asked []string
	answer := func(cluster string, args []string) Result {
		asked = append(asked, cluster+" "+strings.Join(args, " "))
		return Result{Stdout: digged}
	}
	if after, err := transcribe(t, written, answer); err != nil || after != written {
		t.Errorf("got %v\n%s", err, after)
	}
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "c2 dig ") || !strings.HasSuffix(asked[0], " 7.0.103.10.in-addr.arpa. PTR") {
		t.Errorf("asked %q", asked)
	}

	wrong := strings.Replace(written, "10.0.0.9", "10.0.0.8", 1)
	if after, err := transcribe(t, wrong, answer); err == nil || !strings.Contains(err.Error(), `line 7 is "web.shop. 5 IN A 10.0.0.8", but was answered "web.shop. 5 IN A 10.0.0.9"`) || after != wrong {
		t.Errorf("got %v\n%s", err, after)
	}
	if _, err := transcribe(t, written, func(string, []string) Result { return Result{Stdout: ";; no servers could be reached"} }); err == nil {
		t.Error("no answer is an answer")
	}

	t.Setenv(updateVariable, "1")
	if after, err := transcribe(t, wrong, answer); err != nil || after != written {
		t.Errorf("got %v\n%s", err, after)
	}
}

func TestTranscriptWithoutFile(t *testing.T) {
	if _, err := Parse("testdata/x.txtar", []byte("transcript c1 none.golden\n")); err == nil {
		t.Error("a transcript that is not there")
	}
}
